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
  std::string line;
  for (char c = 0; c != '\n';) {
    DET_CHECK(::read(child->out.get(), &c, 1) == 1) << "the fake object server did not start";
    line += c;
  }
  url_ = "http://127.0.0.1:" + line.substr(5, line.size() - 6);
}

ObjectServer::~ObjectServer() {
  ::kill(pid_, SIGKILL);
  (void)base::WaitForExit(pid_);
}

BucketConfig ObjectServer::GetBucketConfig(const std::string& type) const {
  BucketConfig config;
  config.type = type;
  if (type == "azure") {
    config.container = "container";
    config.connection_string =
        "AccountName=account;AccountKey=YXp1cmUta2V5;BlobEndpoint=" + url_ + "/account";
    return config;
  }
  config.bucket = "bucket";
  if (type == "gcs") {
    ::setenv("STORAGE_EMULATOR_HOST", url_.c_str(), 1);
    ::setenv("GCE_METADATA_HOST", url_.substr(7).c_str(), 1);
    ::setenv("HOME", "/nonexistent", 1);
    return config;
  }
  config.access_key = "AKIDEXAMPLE";
  config.secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  config.endpoint_url = url_;
  return config;
}

std::string ObjectServer::Get(const std::string& path) const {
  HttpRequest request;
  request.url = url_ + path;
  request.local = true;
  const auto response = HttpClient().Send(request);
  DET_CHECK_OK(response);
  return response->body;
}

}  // namespace det::objects
