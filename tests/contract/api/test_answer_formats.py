"""One object over HTTP in the formats that Kubernetes clients ask for."""

import pytest
import yaml as old_reader
from tests.contract.api.conftest import ADMIN, Api

AS = "application/json;as={};v=v1;g=meta.k8s.io"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"


@pytest.fixture(autouse=True)
async def _folder(api: Api) -> None:
    """There is one, and its title is a word that readers of old YAML take for false."""
    status, _ = await api("POST", FOLDERS, {"metadata": {"name": "ops"}, "spec": {"title": "no"}})
    assert status == 201


async def test_an_object_as_a_table_and_as_metadata(api: Api) -> None:
    """``Accept`` decides what a get shows of a folder."""
    _, whole = await api("GET", f"{FOLDERS}/ops")
    _, table = await api("GET", f"{FOLDERS}/ops", headers={"Accept": AS.format("Table")})
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"] == ["ops", "no", whole["metadata"]["creationTimestamp"]]
    _, partial = await api("GET", f"{FOLDERS}/ops", headers={"Accept": AS.format("PartialObjectMetadata")})
    assert partial == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole["metadata"]}


async def test_an_object_in_yaml(api: Api) -> None:
    """The data is equal, also for a reader that takes a bare ``no`` for false."""
    _, whole = await api("GET", f"{FOLDERS}/ops")
    headers = {"Authorization": ADMIN, "Accept": "application/yaml"}
    async with api.session.get(f"{FOLDERS}/ops", headers=headers) as answer:
        assert answer.headers["Content-Type"] == "application/yaml"
        assert answer.headers["Vary"] == "Accept, Accept-Encoding"
        assert old_reader.safe_load(await answer.text()) == whole


@pytest.mark.parametrize(("body", "told"), [("kind: Folder\n", True), ("{", False), ("", False)])
async def test_yaml_that_is_not_said_to_be_yaml(api: Api, body: str, told: bool) -> None:
    """As ``curl -d`` sends it: 400, and how to send it, where it does not look like JSON."""
    headers = {"Authorization": ADMIN, "Content-Type": "application/x-www-form-urlencoded"}
    async with api.session.post(FOLDERS, data=body, headers=headers) as answer:
        message = (await answer.json())["message"]
    assert (answer.status, "Content-Type: application/yaml" in message) == (400, told)


async def test_what_there_is_not_is_refused(api: Api) -> None:
    """406 as a Status, and 400 for a word that no table knows."""
    status, told = await api("GET", f"{FOLDERS}/ops", headers={"Accept": "application/vnd.kubernetes.protobuf"})
    assert (status, told["reason"]) == (406, "NotAcceptable")
    status, told = await api("GET", f"{FOLDERS}/ops?includeObject=all", headers={"Accept": AS.format("Table")})
    assert (status, told["reason"]) == (400, "BadRequest")
