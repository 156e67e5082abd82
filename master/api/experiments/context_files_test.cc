#include "master/api/experiments/context_files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/api/experiments/context_archive.h"

namespace det::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using v1::File;

class ContextFilesTest : public testing::Test {
 protected:
  void Add(const std::string& path, const std::string& content, int type = '0') {
    File& file = *files_.Add();
    file.set_path(path);
    file.set_content(content);
    file.set_type(type);
  }
  std::string Pack() {
    const auto packed = PackContext(files_);
    EXPECT_TRUE(packed.ok()) << packed.status();
    return packed.ok() ? packed->tgz : "";
  }
  google::protobuf::RepeatedPtrField<File> files_;
};

TEST_F(ContextFilesTest, ListsDirectoriesBeforeTheirEntries) {
  Add("a.txt", "text");
  Add("a", "", '5');
  Add("a/b.bin", std::string("\0\1", 2));
  Add("a/link", "../a.txt", '2');
  Add("ü.py", "");
  const auto files = ListContext(Pack());
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> paths;
  for (const ContextFile& file : *files) paths.push_back(file.path);
  ASSERT_THAT(paths, ElementsAre("a", "a/b.bin", "a/link", "a.txt", "ü.py"));
  using Kind = ContextFile::Kind;
  EXPECT_EQ((*files)[0].kind, Kind::kFolder);
  EXPECT_EQ((*files)[1].size, 2);
  EXPECT_FALSE((*files)[1].text);
  EXPECT_EQ((*files)[2].kind, Kind::kLink);
  EXPECT_EQ((*files)[2].target, "../a.txt");
  EXPECT_EQ((*files)[3].size, 4);
  EXPECT_TRUE((*files)[3].text);
}

TEST_F(ContextFilesTest, ReadsFileThroughLinks) {
  Add("src/model.py", "code");
  Add("shortcut", "src", '2');
  Add("src/again", "model.py", '2');
  const std::string tgz = Pack();
  for (const char* path : {"src/model.py", "./src//x/../model.py", "src/again", "shortcut/again"}) {
    const auto read = ReadContextFile(tgz, path);
    ASSERT_TRUE(read.ok()) << path << ": " << read.status();
    EXPECT_EQ(*read, "code");
  }
}

TEST_F(ContextFilesTest, RejectsPathsThatLeaveTheDirectoryOrAreNotFiles) {
  Add("src/model.py", "code");
  Add("one", "two", '2');
  Add("two", "one", '2');
  const std::string tgz = Pack();
  for (const char* path :
       {"", "/etc/passwd", "../x", "src/../../x", "src", "src/.", ".", "one", "one/x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadContextFile(tgz, path).status())) << path;
  }
  const absl::Status missing = ReadContextFile(tgz, "src/other.py").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(missing.message(), HasSubstr("src/other.py"));
  EXPECT_TRUE(absl::IsNotFound(ReadContextFile("", "a").status())) << "empty context directory";
}

TEST_F(ContextFilesTest, RejectsInvalidArchive) {
  EXPECT_THAT(*ListContext(""), IsEmpty());
  EXPECT_TRUE(absl::IsInternal(ListContext("not an archive").status()));
}

}  // namespace
}  // namespace det::api
