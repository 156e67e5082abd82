"""Checks that sources, tests, scripts and documents are written in plain technical English.

Usage: language.py ROOT             checks the tree and prints each phrase of PHRASES that it contains
       language.py --self-test DIR  checks the phrases against the lines of DIR/cases.txt
"""

import os
import re
import subprocess
import sys

SUFFIXES = (".bzl", ".cc", ".css", ".h", ".html", ".js", ".md", ".mjs", ".proto", ".py", ".sh",
            ".sql", ".ts", ".tsx", ".yaml", ".yml")
NAMES = ("BUILD", "WORKSPACE", ".bazelrc")
# Files that quote the phrases, data that is not prose of this project, and a header with a file name that
# older keepers use.
SKIPPED = ("tests/language/", "tests/fuzz/corpus/", "examples/char_lm/make_sentiment.py", "LICENSE",
           "agent/keeper/keeper_folder.h")
# Installed or generated files, which are not in the repository.
SKIPPED_FOLDERS = ("__pycache__", "dist", "generated", "node_modules")

# (name, pattern, words of which the text contains at least one, what to write instead). In a pattern
# a space matches any white space, also the end of a line with the mark of the next comment line.
# The words are a fast test that saves most of the searches.
PHRASES = (
    ("is said", r"\b(?:is|are|was|were|be|been) said\b", ("said",),
     "name who reports what: logged, printed, returned, reported, documented in"),
    ("is told", r"\b(?:is|are|was|were|be|been) told\b(?! apart)", ("told",),
     "notified, informed, configured, requested; or use the active voice"),
    ("is none", r"(?<!there )\b(?:is|are|was|were) none\b", ("none",),
     "\"is not a …\", \"is invalid\", \"does not exist\", \"expected one of …\""),
    ("is no …", r"(?<!there )(?<!There )\b(?:is|are|was|were) no "
     r"(?!longer\b|more\b|less\b|fewer\b|other\b|different\b|better\b|worse\b|later\b|earlier\b"
     r"|larger\b|smaller\b|greater\b|higher\b|lower\b|faster\b|slower\b|sooner\b|older\b|newer\b"
     r"|such\b|good\b)[a-zA-Z]+", (" no ", " no\n"),
     "\"is not a …\" or \"there is no …\""),
    ("whoever", r"\b[Ww]hoever\b", ("hoever",), "the caller, the user who, the process that"),
    ("the one who", r"\b(?:[Tt]he one|[Oo]ne|[Tt]hose|[Aa]nyone|[Nn]obody) who\b", (" who", "who "),
     "the user, the caller, the process that"),
    ("whom", r"\b[Ww]hom\b", ("hom",), "name the user, job or process, and what acts on it"),
    ("who may what", r"\b[Ww]ho may (?:what|whom)\b", ("ho may",), "authorization"),
    ("for ever", r"\bfor ever\b", ("ever",), "forever, without limit"),
    ("goes on", r"\b(?:goes|went|going|gone|go) on\b(?! (?:the|a|an|top|this|that|each|every|one)\b)",
     (" on", "on "), "continues, resumes, is still running"),
    ("lies in", r"\b(?:lies|lie|lay) (?:in|below|beside|beneath|above|on|where|there|at|elsewhere)\b"
     r"(?! [\[(0-9])", ("lie", "lay"), "is stored in, is in, is located in"),
    ("stands in", r"\b[Ss]tands? (?:there|in(?! for\b)|where|beside|above|below|elsewhere|behind|here)\b",
     ("tand",), "appears in, is in"),
    ("hears of", r"\bhears? of\b|\bheard of\b", ("hear",), "is notified of, receives, learns of"),
    ("is heard", r"\b(?:is|are|was|were) heard\b", ("heard",), "is used, is read, takes effect"),
    ("mend", r"\b[Mm]end(?:s|ed|ing)?\b", ("end",), "fix, repair"),
    ("let go", r"\blets? go\b|\bletting go\b", ("let",), "release, evict, disconnect, cancel"),
    ("ask away", r"\bask(?:s|ed)? away\b", ("away",), "preempt"),
    ("he, she", r"\b(?:[Hh]e|[Hh]im|[Hh]is|[Hh]imself|[Ss]he|[Hh]er|[Hh]ers|[Hh]erself)\b",
     ("he", "hi", "He", "Hi"), "the user, they, their"),
    ("people", r"\b[Pp]eople\b", ("eople",), "users"),
    ("door", r"\bdoors?\b", ("door",), "authorization, submission, entry point"),
    ("road", r"\broads?\b", ("road",), "integration test, path, data flow"),
    ("sweep", r"\b[Ss]weep(?:s|er|ers|ing)?\b", ("weep",),
     "garbage collection (gc), hyperparameter search"),
    ("whereabouts", r"\b[Ww]hereabouts\b", ("hereabouts",), "scope, location, address"),
    ("no good", r"\bno good\b", ("good",), "invalid"),
    ("as good as", r"\bas good as none\b", ("as good as",), "ignored, treated as missing"),
    ("what is to be", r"\b[Ww]hat is to be\b", ("hat is to",), "the files to delete, the pending …"),
    ("befall", r"\bbefall(?:s|en)?\b|\bbefell\b", ("bef",), "happens to"),
    ("amid", r"\bamid(?:st)?\b", ("amid",), "during, within"),
    ("nudge", r"\b[Nn]udge[sd]?\b", ("udge",), "wake up, wake-up"),
    ("likewise", r"\b[Ll]ikewise\b", ("ikewise",), "repeat the noun and the verb"),
    ("a comment that begins with Of", r"(?:(?<!\S)(?://+|\*|#|--)|\"\"\"|<!--) ?Of (?!course\b)",
     ("Of",), "begin with the subject"),
    ("a comment that begins with By or As",
     r"(?:(?<!\S)(?://+|\*|#|--)|\"\"\"|<!--) ?(?:By|As) (?!default\b|of\b)", ("By", "As"),
     "begin with the subject"),
)

COMMENT_MARK = r"(?:\s+|\s*\n\s*(?://+|\*|#|--)?\s*)"


def compile_phrase(pattern):
    """The pattern, with each space that is outside of a class or an assertion able to span lines."""
    parts = re.split(r"(\(\?[<!=][^()]*\)|\[[^\]]*\])", pattern)
    return re.compile("".join(part if i % 2 else part.replace(" ", COMMENT_MARK)
                              for i, part in enumerate(parts)))


COMPILED = [(name, compile_phrase(pattern), words, instead)
            for name, pattern, words, instead in PHRASES]


def find(text):
    """(line number, name of the phrase, the words found, replacement) of each phrase in the text."""
    found = []
    for name, pattern, words, instead in COMPILED:
        if not any(word in text for word in words):
            continue
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((line, name, " ".join(match.group().split()), instead))
    return sorted(found)


def prose(path, text):
    """The text without what is code: in a Markdown document, the spans in backticks."""
    return re.sub(r"`[^`\n]+`", "`code`", text) if path.endswith(".md") else text


def tracked(root):
    """Paths of the tree's files, relative to root: git's list, or all files without git."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        return sorted(path for path in listed.stdout.decode("utf-8").split("\0") if path)
    except (OSError, subprocess.CalledProcessError):
        return sorted(walk(root))


def walk(root):
    for directory, folders, names in os.walk(root):
        folders[:] = [folder for folder in folders
                      if folder not in SKIPPED_FOLDERS and not folder.startswith(("bazel-", "."))]
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), root)


def is_checked(root, path):
    if path.startswith(SKIPPED):
        return False
    name = os.path.basename(path)
    if name.endswith(SUFFIXES) or name in NAMES:
        return os.path.isfile(os.path.join(root, path))
    if "." in name or not os.path.isfile(os.path.join(root, path)):
        return False
    with open(os.path.join(root, path), "rb") as file:
        return file.read(2) == b"#!"


def check_tree(root):
    """How many files were read, and {path: what find() returned} of those with phrases."""
    files, problems = 0, {}
    for path in tracked(root):
        if not is_checked(root, path):
            continue
        files += 1
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            found = find(prose(path, file.read()))
        if found:
            problems[path] = found
    return files, problems


def check(root):
    files, problems = check_tree(root)
    for path in sorted(problems):
        for line, name, words, instead in problems[path]:
            print(f"{path}:{line}: \"{words}\" ({name}); write instead: {instead}")
    print(f"{files} files, {len(problems)} with phrases to rewrite")
    # If there are no files, ROOT is wrong.
    return 1 if problems or files == 0 else 0


def self_test(folder):
    """Each line of cases.txt: `good|text` or `bad|name of the phrase|text`, `\\n` for a line's end."""
    failures, cases, covered = 0, 0, set()
    with open(os.path.join(folder, "cases.txt"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            verdict, _, rest = line.rstrip("\n").partition("|")
            name, text = rest.split("|", 1) if verdict == "bad" else (None, rest)
            names = {found[1] for found in find(text.replace("\\n", "\n"))}
            cases += 1
            covered.add(name)
            if names != ({name} if name else set()):
                failures += 1
                print(f"cases.txt:{number}: expected {name or 'nothing'}, found {sorted(names)}")
    for name, *_ in PHRASES:
        if name not in covered:
            failures += 1
            print(f"cases.txt: no bad line for \"{name}\"")
    print(f"self-test: {cases} cases, {failures} wrong")
    return 0 if failures == 0 and cases > 0 else 1


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--self-test":
        return self_test(arguments[1])
    if len(arguments) != 1:
        print(__doc__)
        return 2
    return check(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
