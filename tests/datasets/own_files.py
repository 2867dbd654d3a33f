"""Small files of made-up pages, as people have them."""

import csv
import gzip
import io
import json

from eitr.taxonomy import NAMES

WORDS = {
    "health": "fever clinic nurse vaccine tablet surgeon",
    "politics": "ballot senate minister campaign voter treaty",
    "religion": "prayer mosque psalm monk temple gospel",
    "sexual-orientation": "lesbian queer pride rainbow bisexual drag",
    "ethnicity": "tribe asylum ancestry heritage migrant roots",
    "non-sensitive": "football recipe garden guitar harbour puzzle",
}


def rows(count=60, classes=NAMES, **changes):
    """Return pages of all classes in turn; no two have the same words."""
    made = []
    for number in range(count):
        label = classes[number % len(classes)]
        words = WORDS[label].split()
        text = " ".join(words[(number // len(classes) + step) % len(words)] for step in range(4))
        unique = f"page{chr(97 + number // 26 % 26)}{chr(97 + number % 26)}"
        made.append({"title": f"{words[0]} {unique}", "text": text, "label": label} | changes)
    return made


def write(path, content):
    """Write rows in the format that the name of the file says; return the path."""
    file_format = path.name.removesuffix(".gz").rpartition(".")[2]
    if file_format == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in content)
    else:
        stream = io.StringIO(newline="")
        writer = csv.DictWriter(stream, list(content[0]), delimiter="\t" if file_format == "tsv" else ",")
        writer.writeheader()
        writer.writerows(content)
        text = stream.getvalue()
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_folder(folder, content):
    """Write each row as an HTML file, and labels.csv; return the folder."""
    (folder / "saved").mkdir(parents=True)
    listed = []
    for number, row in enumerate(content):
        name = f"saved/{number}.html"
        html = f"<title>{row['title']}</title><p>{row['text']}</p><script>var hidden</script>"
        (folder / name).write_text(html)
        others = {key: value for key, value in row.items() if key not in ("title", "text")}
        listed.append({"file": name, **others})
    write(folder / "labels.csv", listed)
    return folder
