#include "cli/help.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/arguments.h"
#include <CLI/CLI.hpp>

namespace det::cli {
namespace {

using HelpLines = std::vector<std::pair<std::string, std::string>>;  // name, help

std::string FormatUsage(const Command& command) {
  std::string usage = FormatCommand(command.path);
  for (const Positional& word : command.positionals) {
    absl::StrAppend(&usage, word.optional ? " [" : " ", word.name, word.repeated ? "..." : "",
                    word.optional ? "]" : "");
  }
  return usage;
}

// "-f, --follow", "    --config KEY=VALUE"
std::string FormatOption(const CLI::Option& option) {
  const std::string letter =
      option.get_snames().empty() ? "    " : absl::StrCat("-", option.get_snames()[0], ", ");
  const std::string value = option.get_type_name();
  return absl::StrCat(letter, "--", option.get_lnames()[0], value.empty() ? "" : " ", value);
}

// A title and two columns. If the names leave too little space for the help, it is printed below
// them.
std::string FormatSection(const std::string& title, const HelpLines& lines, const Style& style) {
  constexpr int kMinTextWidth = 30;
  size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.first.size());
  std::string out = absl::StrCat("\n", ApplyPaint(title, Paint::kBold, style), "\n");
  int indent = static_cast<int>(width) + 4;
  const bool below = style.width > 0 && style.width - indent < kMinTextWidth;
  if (below) indent = 8;
  for (const auto& [name, text] : lines) {
    const std::string gap = below ? absl::StrCat("\n", std::string(indent, ' '))
                                  : std::string(width - name.size() + 2, ' ');
    absl::StrAppend(&out, "  ", name, gap, WrapText(text, style.width, indent), "\n");
  }
  return out;
}

// CLI11's help in the layout of det: wrapped to the width of the terminal.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter(std::string usage, const Style& style) : usage_(std::move(usage)), style_(style) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string notes;
    for (const absl::string_view line :
         absl::StrSplit(app->get_footer(), '\n', absl::SkipEmpty())) {
      absl::StrAppend(&notes, "\n", WrapText(line, style_.width, 0));
    }
    return absl::StrCat(
        "Usage: ", usage_, " [options]\n\n", WrapText(app->get_description(), style_.width, 0),
        "\n", MakeSection("Arguments", *app, /*positional=*/true),
        MakeSection("Options", *app, /*positional=*/false), notes, notes.empty() ? "" : "\n");
  }

 private:
  std::string MakeSection(const std::string& title, const CLI::App& app, bool positional) const {
    HelpLines lines;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group().empty() || option->get_positional() != positional) continue;
      lines.emplace_back(positional ? option->get_option_text() : FormatOption(*option),
                         option->get_description());
    }
    return lines.empty() ? "" : FormatSection(title, lines, style_);
  }

  const std::string usage_;
  const Style style_;
};

}  // namespace

std::string HelpText(const std::vector<Command>& commands, const std::vector<std::string>& group,
                     const Style& style) {
  HelpLines lines;
  for (const Command* command : SelectGroup(commands, group)) {
    if (IsShown(*command)) lines.emplace_back(FormatUsage(*command), command->summary);
  }
  CLI::App app;
  app.set_help_flag();
  AddOptions(CommonOptions(), &app);
  HelpLines common;
  for (const CLI::Option* option : app.get_options()) {
    common.emplace_back(FormatOption(*option), option->get_description());
  }
  const std::string title = group.empty() ? "Commands (can be shortened: det e ls)"
                                          : absl::StrCat("Commands of ", FormatCommand(group));
  return absl::StrCat("det: experiments on a Resolute cluster\n",
                      FormatSection(title, lines, style),
                      FormatSection("Options of every command", common, style), "\n",
                      WrapText("Run `det COMMAND --help` for details of a command. Exit codes: 0 "
                               "success, 1 error, 2 wrong usage, 3 interrupted.",
                               style.width, 0),
                      "\n");
}

std::string HelpText(const Command& command, const Style& style) {
  if (!command.instead.empty()) {
    return absl::StrCat("`", FormatCommand(command.path), "` is not supported: ", command.instead,
                        ".\n");
  }
  CLI::App app(command.summary);
  app.set_help_flag();
  app.footer(command.notes);
  app.formatter(std::make_shared<HelpFormatter>(FormatUsage(command), style));
  for (size_t i = 0; i < command.positionals.size(); ++i) {
    // Names such as KEY=VALUE are not valid names for CLI11, so they are set as texts.
    app.add_option(absl::StrCat("positional", i))
        ->option_text(command.positionals[i].name)
        ->description(command.positionals[i].help);
  }
  AddOptions(GetOptions(command), &app);
  return app.help();
}

}  // namespace det::cli
