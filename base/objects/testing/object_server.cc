#include "base/objects/testing/object_server.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "base/check.h"
#include "base/objects/http.h"
#include "base/subprocess.h"

namespace det::objects {

ObjectServer::ObjectServer(const std::vector<std::string>& options) {
  base::SpawnOptions spawn;
  spawn.argv = {"/usr/bin/python3", "-B", "base/objects/testing/object_server.py", "--forever"};
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.out = base::Redirect::Pipe();
  spawn.parent_death_signal = SIGKILL;
  const auto child = base::Spawn(spawn);
  DET_CHECK_OK(child);
  pid_ = child->pid;
  std::string said;
  for (char c = 0; c != '\n';) {
    DET_CHECK(::read(child->out.get(), &c, 1) == 1) << "the server of objects does not start";
    said += c;
  }
  url_ = "http://127.0.0.1:" + said.substr(5, said.size() - 6);
}

ObjectServer::~ObjectServer() {
  ::kill(pid_, SIGKILL);
  (void)base::WaitForExit(pid_);
}

Place ObjectServer::PlaceOf(const std::string& type) const {
  Place place;
  place.type = type;
  if (type == "azure") {
    place.container = "container";
    place.connection_string =
        "AccountName=account;AccountKey=YXp1cmUta2V5;BlobEndpoint=" + url_ + "/account";
    return place;
  }
  place.bucket = "bucket";
  if (type == "gcs") {
    ::setenv("STORAGE_EMULATOR_HOST", url_.c_str(), 1);
    ::setenv("GCE_METADATA_HOST", url_.substr(7).c_str(), 1);
    ::setenv("HOME", "/nonexistent", 1);
    return place;
  }
  place.access_key = "AKIDEXAMPLE";
  place.secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  place.endpoint_url = url_;
  return place;
}

std::string ObjectServer::Get(const std::string& path) const {
  HttpRequest request;
  request.url = url_ + path;
  request.local = true;
  const auto answer = HttpClient().Send(request);
  DET_CHECK_OK(answer);
  return answer->body;
}

}  // namespace det::objects
