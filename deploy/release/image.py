"""The image, and a Kustomize component that sets it by digest in an overlay."""

import json
from typing import Final

from deploy.release.source import DIST, Unfit, image_name, run, tag, version

REPORT: Final = DIST / "image.json"
COMPONENT: Final = DIST / "image" / "kustomization.yaml"
ARCHIVE: Final = DIST / "image.tar"


def make() -> str:
    for path in (REPORT, COMPONENT, ARCHIVE):
        path.unlink(missing_ok=True)
    DIST.mkdir(parents=True, exist_ok=True)
    run(["deploy/image.sh"], {"REPORT": str(REPORT), "ARCHIVE": str(ARCHIVE)})
    report = json.loads(REPORT.read_text("utf-8"))
    if (report["name"], report["version"], report["tag"]) != (image_name(), version(), tag()):
        raise Unfit(f"image.sh made another image: {report}")
    COMPONENT.parent.mkdir(exist_ok=True)
    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "images": [transformer()],
    }
    COMPONENT.write_text(json.dumps(component, indent=2) + "\n", "utf-8")  # JSON is YAML
    return f"{report['name']}:{report['tag']}@{report['digest']}"


def digest() -> str:
    """The digest of this build's image; "" if the image was not made."""
    report = json.loads(REPORT.read_text("utf-8")) if REPORT.exists() else {}
    return str(report["digest"]) if report.get("tag") == tag() and report["name"] == image_name() else ""


def transformer() -> dict[str, str]:
    """The `images` entry of a kustomization that replaces `playmolt`: by digest, or by tag if there is no digest."""
    made = digest()
    return {"name": "playmolt", "newName": image_name(), **({"digest": made} if made else {"newTag": tag()})}
