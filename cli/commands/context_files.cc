#include "cli/commands/context_files.h"

#include <utility>

namespace det::cli {
namespace {

// Returns File.type, as in a tar header.
int GetType(ContextEntry::Kind kind) {
  switch (kind) {
    case ContextEntry::Kind::kLink:
      return '2';
    case ContextEntry::Kind::kDirectory:
      return '5';
    case ContextEntry::Kind::kFile:
      break;
  }
  return '0';
}

}  // namespace

void AddFiles(std::vector<ContextEntry> entries,
              google::protobuf::RepeatedPtrField<api::v1::File>* files) {
  for (ContextEntry& entry : entries) {
    api::v1::File* file = files->Add();
    file->set_path(std::move(entry.path));
    file->set_type(GetType(entry.kind));
    file->set_content(std::move(entry.content));
    file->set_mtime(entry.mtime);
    file->set_mode(entry.mode);
  }
}

}  // namespace det::cli
