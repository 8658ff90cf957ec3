"""The plan as a shell script and its undo, for machines where we are not. POSIX sh, as root; may be run twice.

Both keep to the same three rules as `dyno apply`: a file is copied into `backup/` before its first change, a value is
changed only when it differs, and what cannot be done is said and does not stop the rest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from dbdyno.check.fixes_steps import Step

_HEAD = """#!/bin/sh
# {what} for {target}. Read it before you run it. Needs root.
# Set ROOT=/some/folder to change the files of a tree instead of this machine.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=${{ROOT:-}}
BACKUP=${{BACKUP:-$HERE/backup}}
FAILED=0
fail() {{ echo "FAILED: $*" >&2; FAILED=1; }}
"""
_TOOLS = r"""
# keep FILE: a copy of it as it was before our first change, or a mark that it was not there, with the folders that
# are made for it.
keep() {
    if [ -e "$BACKUP$1" ] || [ -e "$BACKUP$1.was-absent" ]; then return 0; fi
    mkdir -p "$(dirname "$BACKUP$1")" || return 1
    if [ -e "$ROOT$1" ]; then cp -p "$ROOT$1" "$BACKUP$1"; return; fi
    folder=$(dirname "$1")
    while [ ! -e "$ROOT$folder" ]; do
        printf '%s\n' "$folder"
        folder=$(dirname "$folder")
    done > "$BACKUP$1.was-absent"
}
# line FILE PATTERN LINE [HEADER…]: LINE instead of the lines that match PATTERN, at the end if there are none.
line() {
    file=$1; pattern=$2; text=$3; shift 3
    if [ "$(grep -E -e "^$pattern" "$ROOT$file" 2>/dev/null)" = "$text" ]; then return 0; fi
    keep "$file" || { fail "$file: cannot be backed up"; return 1; }
    mkdir -p "$(dirname "$ROOT$file")"
    new="$ROOT$file.dyno-new"
    if [ -f "$ROOT$file" ]; then
        cp -p "$ROOT$file" "$new" && { grep -vE -e "^$pattern" "$ROOT$file" > "$new" || true; }
    else
        : > "$new" && chmod 644 "$new"
    fi
    for header in "$@"; do grep -qxF -e "$header" "$new" || [ -z "$text" ] || printf '%s\n' "$header" >> "$new"; done
    [ -z "$text" ] || printf '%s\n' "$text" >> "$new"
    if mv "$new" "$ROOT$file"; then echo "$file: ${text:-a line removed}"; else fail "$file: cannot be written"; fi
}
# mount_word POINT WORD RIVALS: WORD among the options of POINT in /etc/fstab, its rivals taken out.
mount_word() {
    awk -v point="$1" -v word="$2" -v rivals=",$3," '
        $1 !~ /^#/ && NF >= 4 && $2 == point {
            n = split($4, had, ","); there = 0; other = 0
            for (i = 1; i <= n; i++) {
                if (had[i] == word) there = 1
                else if (index(rivals, "," had[i] ",") > 0) other = 1
            }
            if (there && !other) found = 1
        }
        END { exit !found }' "$ROOT/etc/fstab" && return 0
    keep /etc/fstab || { fail "/etc/fstab: cannot be backed up"; return 1; }
    new="$ROOT/etc/fstab.dyno-new"
    cp -p "$ROOT/etc/fstab" "$new" || { fail /etc/fstab; return 1; }
    awk -v point="$1" -v word="$2" -v rivals=",$3," '
        $1 !~ /^#/ && NF >= 4 && $2 == point {
            n = split($4, had, ","); now = ""
            for (i = 1; i <= n; i++) if (index(rivals, "," had[i] ",") == 0) now = now had[i] ","
            $4 = now word
        }
        { print }' "$ROOT/etc/fstab" > "$new" && mv "$new" "$ROOT/etc/fstab" && echo "/etc/fstab: $2 for $1"
}
"""
_LIVE = r"""
# put VALUE FILE…: a value of the kernel; nothing when ROOT is set.
put() {
    value=$1; shift
    [ -z "$ROOT" ] || return 0
    for file in "$@"; do
        now=$(cat "$file" 2>/dev/null)
        case " $now " in *"[$value]"*|" $value ") continue ;; esac
        if printf '%s\n' "$value" > "$file"; then echo "$file: $value"; else fail "$file: $value"; fi
    done
}
# run COMMAND…: when the machine has it; nothing when ROOT is set.
run() {
    [ -z "$ROOT" ] || return 0
    if ! command -v "$1" >/dev/null 2>&1; then echo "not here, left out: $*"; return 0; fi
    case $1 in
        systemctl) listens=/run/systemd/system ;;
        udevadm) listens=/run/udev/control ;;
        *) listens=/ ;;
    esac
    if [ ! -e $listens ]; then echo "no $listens here, left out: $*"; return 0; fi
    if "$@"; then echo "$*"; else fail "$*"; fi
}
"""
_UNDO = r"""
# give_back FILE: as it was before our first change; folders that were made for it go with it when they are empty.
give_back() {
    if [ -e "$BACKUP$1" ]; then cp -p "$BACKUP$1" "$ROOT$1" && echo "$1: as before" || fail "$1"
    elif [ -e "$BACKUP$1.was-absent" ]; then
        rm -f "$ROOT$1" && echo "$1: removed" || fail "$1"
        while read -r folder; do rmdir "$ROOT$folder" 2>/dev/null || :; done < "$BACKUP$1.was-absent"
    fi
}
"""
_END = """
[ $FAILED -eq 0 ] || echo "NOT ALL WAS DONE: see the lines that begin with FAILED" >&2
exit $FAILED
"""


def apply_script(steps: Sequence[Step], target: str) -> str:
    """Makes the plan's changes, those that last first."""
    body = [_apply(step) for step in _ordered(steps)]
    head = _HEAD.format(what="Changes", target=_one_line(target))
    return head + _TOOLS + _LIVE + "\n" + "\n".join(body) + "\n" + _END


def undo_script(steps: Sequence[Step], target: str) -> str:
    """Takes them back, in the reverse order, to the values that were seen when the plan was made."""
    body = [one for step in reversed(_ordered(steps)) if (one := _undo(step))]
    files = dict.fromkeys(step.path for step in steps if not step.live)
    body += [f"give_back {shlex.quote(path)}" for path in reversed(files)]
    body += [f"run {step.value}" for step in _ordered(steps) if step.kind == "command"]
    head = _HEAD.format(what="Undo of the changes", target=_one_line(target))
    return head + _LIVE + _UNDO + "\n" + "\n".join(body) + "\n" + _END


def _ordered(steps: Iterable[Step]) -> list[Step]:
    """Files, then commands that read them (each once), then the running machine."""
    listed = list(steps)
    commands = list({step.value: step for step in listed if step.kind == "command"}.values())
    return [
        *(step for step in listed if not step.live),
        *commands,
        *(step for step in listed if step.live and step.kind != "command"),
    ]


def _apply(step: Step) -> str:  # noqa: PLR0911 - one for each kind of step
    match step.kind:
        case "line":
            words = [step.path, step.pattern.replace(r"\t", "\t"), step.line, *step.header.splitlines()]
            return "line " + " ".join(shlex.quote(word) for word in words)
        case "fstab":
            return f"mount_word {shlex.quote(step.name)} {step.value} {','.join(_rivals(step.value))}"
        case "write":
            return f"put {shlex.quote(step.value)} {_globbed(step.path)}"
        case "limit":
            return f"run prlimit --pid {step.pid} --{step.name}={step.value}:{step.value}"
        case "remount":
            return f"run mount -o remount,{step.value} {shlex.quote(step.name)}"
        case "service":
            return f"run systemctl enable --now {shlex.quote(step.name)}"
        case _:
            return f"run {step.value}"


def _undo(step: Step) -> str:
    match step.kind:
        case "write":
            path, value = step.path, step.before
            if path.endswith("_bytes") and "/vm/dirty" in path and value == "0":
                # The kernel takes no 0 there: the ratio that it replaced takes its place again.
                ratio = path.replace("_bytes", "_ratio")
                return f"put {shlex.quote(step.name or _ratio_default(path))} {ratio}"
            return f"put {shlex.quote(value)} {_globbed(path)}" if value else ""
        case "limit":
            return f"run prlimit --pid {step.pid} --{step.name}={step.before}"
        case "remount":
            return f"run mount -o remount,{step.before} {shlex.quote(step.name)}"
        case "service":
            return f"run systemctl disable --now {shlex.quote(step.name)}"
        case _:
            return ""


def _ratio_default(path: str) -> str:
    return "10" if "background" in path else "20"


def _rivals(word: str) -> list[str]:
    from dbdyno.check.fixes_edit import MOUNT_GROUPS

    return sorted(next((group for group in MOUNT_GROUPS if word in group), frozenset({word})))


def _globbed(path: str) -> str:
    """A path in quotes, but for its stars."""
    return "*".join(shlex.quote(part) if part else "" for part in path.split("*"))


def _one_line(text: str) -> str:
    """A target's name in a comment must not end the comment."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
