"""One object over HTTP in the formats that Kubernetes clients request."""

import pytest
import yaml
from tests.contract.api.conftest import ADMIN, Api

ACCEPT_FORMAT = "application/json;as={};v=v1;g=meta.k8s.io"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"


@pytest.fixture(autouse=True)
async def _folder(api: Api) -> None:
    """Create a folder whose title is false in YAML 1.1."""
    status, _ = await api("POST", FOLDERS, {"metadata": {"name": "ops"}, "spec": {"title": "no"}})
    assert status == 201


async def test_an_object_is_returned_as_a_table_or_as_metadata(api: Api) -> None:
    """``Accept`` selects the format in which a get returns a folder."""
    _, complete = await api("GET", f"{FOLDERS}/ops")
    _, table = await api("GET", f"{FOLDERS}/ops", headers={"Accept": ACCEPT_FORMAT.format("Table")})
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"] == ["ops", "no", complete["metadata"]["creationTimestamp"]]
    _, partial = await api("GET", f"{FOLDERS}/ops", headers={"Accept": ACCEPT_FORMAT.format("PartialObjectMetadata")})
    assert partial == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": complete["metadata"]}


async def test_an_object_is_returned_in_yaml(api: Api) -> None:
    """An object in YAML equals the object in JSON, even for a reader of YAML 1.1, which would read an unquoted ``no`` as false."""
    _, complete = await api("GET", f"{FOLDERS}/ops")
    headers = {"Authorization": ADMIN, "Accept": "application/yaml"}
    async with api.session.get(f"{FOLDERS}/ops", headers=headers) as response:
        assert response.headers["Content-Type"] == "application/yaml"
        assert response.headers["Vary"] == "Accept, Accept-Encoding"
        assert yaml.safe_load(await response.text()) == complete


@pytest.mark.parametrize(("body", "is_yaml"), [("kind: Folder\n", True), ("{", False), ("", False)])
async def test_yaml_without_its_content_type_is_refused(api: Api, body: str, is_yaml: bool) -> None:
    """A body with the content type of ``curl -d`` is 400. If the body is YAML, the error names the right content type."""
    headers = {"Authorization": ADMIN, "Content-Type": "application/x-www-form-urlencoded"}
    async with api.session.post(FOLDERS, data=body, headers=headers) as response:
        message = (await response.json())["message"]
    assert response.status == 400
    if is_yaml:
        assert "Content-Type: application/yaml" in message
    else:
        assert "Content-Type: application/yaml" not in message


async def test_unsupported_formats_are_rejected(api: Api) -> None:
    """An unsupported format is 406 with a Status, and an unknown parameter of tables is 400."""
    status, body = await api("GET", f"{FOLDERS}/ops", headers={"Accept": "application/vnd.kubernetes.protobuf"})
    assert (status, body["reason"]) == (406, "NotAcceptable")
    status, body = await api("GET", f"{FOLDERS}/ops?includeObject=all", headers={"Accept": ACCEPT_FORMAT.format("Table")})
    assert (status, body["reason"]) == (400, "BadRequest")
