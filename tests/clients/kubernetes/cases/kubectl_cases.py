"""Daily work with kubectl, checked by its output and by the requests in its log."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROGRAM = os.environ["DASHWRIGHT_TEST_KUBECTL"]
GROUP = "dashboard.grafana.app"
ITEMS = f"/apis/{GROUP}/v2alpha1/namespaces/default/dashboards"
#: A request in the log of kubectl, in either of the two forms that its versions write.
_CALL = re.compile(r"\] (?:\"Request\" verb=\")?(GET|POST|PUT|PATCH|DELETE)(?:\" url=\"| )https://[^/]+(/[^\s\"]*)")
#: A header of the request before it.
_HEADER = re.compile(r"^I\S*.*\] +(Accept|Content-Type): (.*)$|^ +(Accept|Content-Type): (.*)$")


@dataclass
class Request:
    """A request that kubectl sent, with its headers about media types."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class Run:
    """The result of one command. The error output does not contain the log."""

    status: int
    out: str
    err: str
    requests: list[Request]

    def check_requests(self, *prefixes: str) -> None:
        """Check that requests with these prefixes were sent in this order. Other requests may have been sent between them."""
        calls = iter(self.calls)
        for prefix in prefixes:
            assert any(line.startswith(prefix) for line in calls), f"{prefix} was not requested in this order: {self.calls}"

    @property
    def calls(self) -> list[str]:
        """Method and path of each request."""
        return [str(request) for request in self.requests]

    @property
    def json(self) -> Any:
        """The output, parsed as JSON."""
        return json.loads(self.out)


class Kubectl:
    """The program with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = dict(os.environ)

    def command(self, *arguments: str) -> list[str]:
        """Return the command with these arguments."""
        return [PROGRAM, f"--cache-dir={self.folder / 'cache'}", *arguments]

    def __call__(self, *arguments: str, document: Any = None, status: int | None = 0) -> Run:
        """Run kubectl with ``document`` on standard input, as JSON unless it is text, and check the exit status unless it is None."""
        text = document if isinstance(document, str) else json.dumps(document) if document is not None else ""
        process = subprocess.run(
            self.command(*arguments, "-v=8"), input=text, env=self.environment, check=False, capture_output=True, text=True, timeout=50
        )
        run = Run(process.returncode, process.stdout, _without_log_lines(process.stderr), list(_requests(process.stderr)))
        report = f"{arguments}: {run.status}\n{run.out}\n{run.err}\n{run.calls}"
        assert status in (None, run.status), report
        return run


def _without_log_lines(log: str) -> str:
    """Return the error output without the lines that ``-v=8`` adds."""
    return "\n".join(line for line in log.splitlines() if not re.match(r"[IWE]\d{4} |\s|>", line))


def _requests(log: str) -> Iterator[Request]:
    """Return the requests in a log, in order."""
    request: Request | None = None
    for line in log.splitlines():
        if call := _CALL.search(line):
            if request:
                yield request
            request = Request(call[1], call[2])
        elif request and (header := _HEADER.match(line)):
            request.headers.setdefault(header[1] or header[3], header[2] or header[4])
    if request:
        yield request


@pytest.fixture(scope="session")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Return kubectl with one cache for all cases."""
    return Kubectl(tmp_path_factory.mktemp("kubectl"))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of an object for this case alone."""
    return re.sub("[^a-z0-9]+", "-", str(request.node.name).removeprefix("test_"))[:36].strip("-")


def dashboard(name: str, title: str = "One", /, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return the manifest of a dashboard."""
    metadata = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": f"{GROUP}/v2alpha1", "kind": "Dashboard", "metadata": metadata, "spec": {"title": title} | spec}


@pytest.fixture
def dashboard_name(kubectl: Kubectl, name: str) -> Iterator[str]:
    """Create a dashboard and return its name."""
    kubectl("create", "-f", "-", document=dashboard(name))
    yield name
    kubectl("delete", "dashboard", name, "--ignore-not-found")


def test_api_resources_lists_all_kinds(kubectl: Kubectl) -> None:
    """Discovery takes two requests and returns all kinds with short names and verbs."""
    run = kubectl("api-resources", "--output=wide")
    run.check_requests("GET /api", "GET /apis")
    assert len(run.requests) == 2
    rows = {line.split()[0]: line for line in run.out.splitlines()}
    assert {"dashboards", "librarypanels", "folders", "repositories", "jobs"} <= set(rows)
    assert "dash" in rows["dashboards"].split()[1]
    assert all(verb in rows["dashboards"] for verb in ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"))


def test_api_versions_lists_every_version(kubectl: Kubectl) -> None:
    """Every served version of every group is listed."""
    result = kubectl("api-versions").out.split()
    assert {f"{GROUP}/v0alpha1", f"{GROUP}/v1beta1", f"{GROUP}/v2alpha1"} <= set(result)


def test_version_shows_the_version_of_the_server(kubectl: Kubectl) -> None:
    """The server reports a version that kubectl can parse."""
    assert kubectl("version", "--output=json").json["serverVersion"]["gitVersion"]


@pytest.mark.parametrize("path", ["dashboard", "dashboard.spec", "folder.spec.title", "librarypanels.spec", "repository.spec"])
def test_explain_describes_each_kind(kubectl: Kubectl, path: str) -> None:
    """The OpenAPI document describes each kind and its fields."""
    run = kubectl("explain", path)
    run.check_requests("GET /openapi/v3", "GET /openapi/v3/apis/")
    assert "KIND:" in run.out
    assert "<unknown>" not in run.out


def test_get_prints_a_table(kubectl: Kubectl, dashboard_name: str) -> None:
    """A list is a table with the columns of the kind."""
    run = kubectl("get", "dashboards")
    run.check_requests(f"GET {ITEMS}?limit=500")
    assert "as=Table" in run.requests[-1].headers["Accept"]
    head, *rows = run.out.splitlines()
    assert head.split()[:2] == ["NAME", "TITLE"]
    assert any(row.split()[:2] == [dashboard_name, "One"] for row in rows)


@pytest.mark.parametrize(
    "kind_name", ["dash", "dashboard", "dashboards.dashboard.grafana.app", "dashboards.v0alpha1.dashboard.grafana.app"]
)
def test_every_name_of_a_kind_is_accepted(kubectl: Kubectl, dashboard_name: str, kind_name: str) -> None:
    """Short name, singular, and plural with group and version identify the same object."""
    assert kubectl("get", kind_name, dashboard_name, "--output=name").out.strip() == f"dashboard.{GROUP}/{dashboard_name}"


def test_get_lists_the_kinds_of_a_category(kubectl: Kubectl, dashboard_name: str) -> None:
    """A category lists all its kinds."""
    assert f"dashboard.{GROUP}/{dashboard_name}" in kubectl("get", "grafana", "--output=name").out


@pytest.mark.parametrize("output_format", ["yaml", "json", "name", "wide", "jsonpath={.spec.title}", "custom-columns=T:.spec.title"])
def test_get_prints_an_object_in_every_format(kubectl: Kubectl, dashboard_name: str, output_format: str) -> None:
    """One object is printed in every output format."""
    run = kubectl("get", "dashboard", dashboard_name, "--output", output_format)
    run.check_requests(f"GET {ITEMS}/{dashboard_name}")
    assert (dashboard_name if output_format == "name" else "One") in run.out


def test_get_prints_the_error_of_an_unknown_object(kubectl: Kubectl) -> None:
    """kubectl prints the server's message."""
    run = kubectl("get", "dashboard", "nowhere", status=1)
    assert run.err.strip().endswith(f'Error from server (NotFound): dashboards.{GROUP} "nowhere" not found')


def test_selectors_limit_a_list(kubectl: Kubectl, name: str) -> None:
    """Objects are listed by labels and by name."""
    for index, team in enumerate(("a", "b", "c")):
        kubectl("create", "-f", "-", document=dashboard(f"{name}-{index}", labels={"team": team, "case": name}))
    selectors_by_option = {
        "-l": [f"case={name},team=a", f"case={name},team in (a)", f"case={name},team notin (b,c)", f"case={name},team!=b,team!=c"],
        "--field-selector": [f"metadata.name={name}-0"],
    }
    for option, selectors in selectors_by_option.items():
        for selector in selectors:
            assert kubectl("get", "dashboards", option, selector, "--output=name").out.split() == [f"dashboard.{GROUP}/{name}-0"], selector
    assert len(kubectl("get", "dashboards", "-l", f"case={name},team", "--output=name").out.split()) == 3
    assert kubectl("get", "dashboards", "-l", f"case={name},!team", "--output=name").out == ""
    kubectl("delete", "dashboards", "-l", f"case={name}")
    assert kubectl("get", "dashboards", "-l", f"case={name}", "--output=name").out == ""


def test_a_list_in_chunks_is_complete(kubectl: Kubectl, name: str) -> None:
    """A list in pages is complete."""
    items = [dashboard(f"{name}-{index}", labels={"case": name}) for index in range(5)]
    kubectl("create", "-f", "-", document={"apiVersion": f"{GROUP}/v2alpha1", "kind": "DashboardList", "items": items})
    run = kubectl("get", "dashboards", "-l", f"case={name}", "--chunk-size=2", "--output=name")
    assert len(run.out.split()) == 5
    assert sum(request.path.startswith(f"{ITEMS}?") for request in run.requests) == 3
    kubectl("delete", "dashboards", "-l", f"case={name}")


def test_a_watch_prints_each_change(kubectl: Kubectl, dashboard_name: str) -> None:
    """A watch prints the object, then each change, as rows of the table."""
    command = kubectl.command(
        "get", "dashboards", "--field-selector", f"metadata.name={dashboard_name}", "--watch", "--output-watch-events"
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kubectl.environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[:3] == ["EVENT", "NAME", "TITLE"]
        assert process.stdout.readline().split()[:3] == ["ADDED", dashboard_name, "One"]
        kubectl("patch", "dashboard", dashboard_name, "--type=merge", "--patch", '{"spec": {"title": "Two"}}')
        assert process.stdout.readline().split()[:3] == ["MODIFIED", dashboard_name, "Two"]
        kubectl("delete", "dashboard", dashboard_name)
        assert process.stdout.readline().split()[:3] == ["DELETED", dashboard_name, "Two"]
        process.terminate()


def test_create_refuses_an_existing_object(kubectl: Kubectl, name: str) -> None:
    """A second creation of the same object is refused."""
    run = kubectl("create", "-f", "-", document=dashboard(name))
    run.check_requests(f"POST {ITEMS}?fieldManager=kubectl-create&fieldValidation=Strict")
    assert run.out.strip() == f"dashboard.{GROUP}/{name} created"
    repeated = kubectl("create", "-f", "-", document=dashboard(name), status=1)
    assert f'dashboards.{GROUP} "{name}" already exists' in repeated.err
    kubectl("delete", "dashboard", name)


def test_create_generates_a_name(kubectl: Kubectl) -> None:
    """The server generates the name."""
    body = dashboard("x")
    body["metadata"] = {"generateName": "generated-"}
    result = kubectl("create", "-f", "-", "--output=name", document=body).out.strip()
    assert result.startswith(f"dashboard.{GROUP}/generated-")
    kubectl("delete", result)


@pytest.mark.parametrize("command", [["create"], ["apply"], ["apply", "--server-side"]], ids=" ".join)
def test_a_dry_run_stores_nothing(kubectl: Kubectl, name: str, command: list[str]) -> None:
    """The server validates a request and stores nothing."""
    run = kubectl(*command, "-f", "-", "--dry-run=server", document=dashboard(name))
    assert any("dryRun=All" in request.path for request in run.requests)
    assert "(server dry run)" in run.out
    kubectl("get", "dashboard", name, status=1)


def test_unknown_fields_are_validated_as_requested(kubectl: Kubectl, name: str) -> None:
    """An unknown field is refused, warned about, or ignored, as requested."""
    body = dashboard(name) | {"speck": {}}
    assert 'unknown field "speck"' in kubectl("create", "-f", "-", document=body, status=1).err
    assert 'unknown field "speck"' in kubectl("create", "-f", "-", "--validate=warn", "--dry-run=server", document=body).err
    ignored = kubectl("create", "-f", "-", "--validate=false", "--dry-run=server", document=body)
    ignored.check_requests(f"POST {ITEMS}?dryRun=All&fieldManager=kubectl-create&fieldValidation=Ignore")


def test_apply_keeps_the_fields_of_other_clients(kubectl: Kubectl, name: str) -> None:
    """A client-side apply creates, keeps and changes an object; it deletes omitted fields and keeps those of other clients."""
    first = kubectl("apply", "-f", "-", document=dashboard(name, "One", refresh="1m"))
    first.check_requests(
        "GET /openapi/v3", f"GET {ITEMS}/{name}", f"POST {ITEMS}?fieldManager=kubectl-client-side-apply&fieldValidation=Strict"
    )
    assert first.out.strip() == f"dashboard.{GROUP}/{name} created"
    version = kubectl("get", "dashboard", name, "--output=json").json["metadata"]["resourceVersion"]
    assert kubectl("apply", "-f", "-", document=dashboard(name, "One", refresh="1m")).out.strip().endswith("unchanged")
    assert kubectl("get", "dashboard", name, "--output=json").json["metadata"]["resourceVersion"] == version
    kubectl("annotate", "dashboard", name, "note=of another client")
    assert kubectl("apply", "-f", "-", document=dashboard(name, "Two")).out.strip().endswith("configured")
    stored = kubectl("get", "dashboard", name, "--output=json").json
    assert stored["spec"] == {"title": "Two"}
    assert stored["metadata"]["annotations"]["note"] == "of another client"
    assert stored["metadata"]["generation"] == 2
    kubectl("delete", "dashboard", name)


def test_the_output_of_get_can_be_applied(kubectl: Kubectl, dashboard_name: str) -> None:
    """The YAML that ``get`` prints can be applied."""
    text = kubectl("get", "dashboard", dashboard_name, "--output=yaml").out
    changed = text.replace("title: One", "title: Two")
    assert changed != text
    kubectl("apply", "-f", "-", document=changed)
    assert kubectl("get", "dashboard", dashboard_name, "--output=jsonpath={.spec.title}").out == "Two"


def test_server_side_apply_changes_and_deletes_fields(kubectl: Kubectl, name: str) -> None:
    """A server-side apply creates, keeps and changes an object, and deletes omitted fields."""
    apply = ("apply", "--server-side", "-f", "-")
    first = kubectl(*apply, document=dashboard(name, "One", refresh="1m"))
    first.check_requests(f"PATCH {ITEMS}/{name}?fieldManager=kubectl&fieldValidation=Strict&force=false")
    assert first.requests[-1].headers["Content-Type"] == "application/apply-patch+yaml"
    version = kubectl("get", "dashboard", name, "--output=json").json["metadata"]["resourceVersion"]
    kubectl(*apply, document=dashboard(name, "One", refresh="1m"))
    assert kubectl("get", "dashboard", name, "--output=json").json["metadata"]["resourceVersion"] == version
    kubectl(*apply, document=dashboard(name, "Two"))
    assert kubectl("get", "dashboard", name, "--output=json").json["spec"] == {"title": "Two"}
    kubectl("delete", "dashboard", name)


def test_fields_of_another_manager_conflict(kubectl: Kubectl, name: str) -> None:
    """Fields of another manager are refused by name, and changed with force."""
    apply = ("apply", "--server-side", "-f", "-", "--field-manager")
    kubectl(*apply, "first", document=dashboard(name, "One"))
    refused = kubectl(*apply, "second", document=dashboard(name, "Two"), status=1)
    assert 'Apply failed with 1 conflict: conflict with "first": .spec.title' in refused.err
    assert "Please review the fields above" in refused.err
    kubectl(*apply, "second", "--force-conflicts", document=dashboard(name, "Two"))
    stored = kubectl("get", "dashboard", name, "--output=json", "--show-managed-fields").json
    assert stored["spec"]["title"] == "Two"
    assert [entry["manager"] for entry in stored["metadata"]["managedFields"] if "f:spec" in entry["fieldsV1"]] == ["second"]
    kubectl("delete", "dashboard", name)


def test_client_side_apply_may_be_continued_on_the_server(kubectl: Kubectl, name: str) -> None:
    """Fields of a client-side apply belong to the same manager in a server-side apply: no conflict, and omitted fields are deleted."""
    kubectl("apply", "-f", "-", document=dashboard(name, "One", refresh="1m"))
    kubectl("apply", "--server-side", "-f", "-", document=dashboard(name, "Two", refresh="1m"))
    kubectl("apply", "--server-side", "-f", "-", document=dashboard(name, "Three"))
    stored = kubectl("get", "dashboard", name, "--output=json", "--show-managed-fields").json
    assert stored["spec"] == {"title": "Three"}
    assert "kubectl-client-side-apply" not in [entry["manager"] for entry in stored["metadata"]["managedFields"]]
    kubectl("delete", "dashboard", name)


def test_edit_applies_the_changes_of_an_editor(kubectl: Kubectl, dashboard_name: str) -> None:
    """An editor's changes are applied."""
    kubectl.environment["KUBE_EDITOR"] = "sed -i s/One/Edited/"
    run = kubectl("edit", "dashboard", dashboard_name)
    run.check_requests(f"GET {ITEMS}/{dashboard_name}", f"PATCH {ITEMS}/{dashboard_name}?fieldManager=kubectl-edit")
    assert kubectl("get", "dashboard", dashboard_name, "--output=jsonpath={.spec.title}").out == "Edited"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"spec": {"title": "New", "refresh": null}}'),
        ("strategic", '{"spec": {"title": "New"}}'),
        ("json", '[{"op": "replace", "path": "/spec/title", "value": "New"}]'),
    ],
    ids=["merge", "strategic", "json"],
)
def test_each_type_of_patch_changes_an_object(kubectl: Kubectl, dashboard_name: str, kind: str, patch: str) -> None:
    """Each type of patch changes an object. A repeated patch changes nothing."""
    kubectl("patch", "dashboard", dashboard_name, f"--type={kind}", "--patch", patch)
    assert kubectl("patch", "dashboard", dashboard_name, f"--type={kind}", "--patch", patch).out.strip().endswith("(no change)")
    stored = kubectl("get", "dashboard", dashboard_name, "--output=json").json
    assert (stored["spec"], stored["metadata"]["generation"]) == ({"title": "New"}, 2)


def test_labels_and_annotations_are_added_and_removed(kubectl: Kubectl, dashboard_name: str) -> None:
    """Labels and annotations are added and removed without a new generation."""
    run = kubectl("label", "dashboard", dashboard_name, "team=a")
    run.check_requests(f"PATCH {ITEMS}/{dashboard_name}?fieldManager=kubectl-label")
    assert run.requests[-1].headers["Content-Type"] == "application/merge-patch+json"
    kubectl("label", "dashboard", dashboard_name, "team=b", "--overwrite")
    kubectl("annotate", "dashboard", dashboard_name, "note=x")
    metadata = kubectl("get", "dashboard", dashboard_name, "--output=json").json["metadata"]
    assert (metadata["labels"]["team"], metadata["annotations"]["note"], metadata["generation"]) == ("b", "x", 1)
    kubectl("label", "dashboard", dashboard_name, "team-")
    kubectl("annotate", "dashboard", dashboard_name, "note-")
    metadata = kubectl("get", "dashboard", dashboard_name, "--output=json").json["metadata"]
    assert "team" not in metadata.get("labels", {})
    assert "note" not in metadata["annotations"]


def test_replace_refuses_an_outdated_version(kubectl: Kubectl, dashboard_name: str) -> None:
    """An object is replaced as a whole; an outdated version is refused."""
    old = kubectl("get", "dashboard", dashboard_name, "--output=json").json
    kubectl("replace", "-f", "-", document=dashboard(dashboard_name, "Two"))
    assert kubectl("get", "dashboard", dashboard_name, "--output=json").json["spec"]["title"] == "Two"
    assert "the object has been modified" in kubectl("replace", "-f", "-", document=old, status=1).err


def test_diff_shows_the_changes_of_an_apply(kubectl: Kubectl, dashboard_name: str) -> None:
    """The server computes the difference. With changes the status is 1, and without any it is 0."""
    run = kubectl("diff", "-f", "-", document=dashboard(dashboard_name, "Two"), status=1)
    run.check_requests(f"GET {ITEMS}/{dashboard_name}")
    assert "-  title: One" in run.out
    assert "+  title: Two" in run.out
    kubectl("diff", "--server-side", "--force-conflicts", "-f", "-", document=dashboard(dashboard_name, "Two"), status=1)
    kubectl("apply", "-f", "-", document=dashboard(dashboard_name, "One"))
    assert kubectl("diff", "-f", "-", document=dashboard(dashboard_name, "One")).out == ""


def test_wait_ends_when_a_field_has_its_value(kubectl: Kubectl, dashboard_name: str) -> None:
    """Waiting ends when a field has its value, or the object is deleted."""
    command = kubectl.command("wait", f"dashboard/{dashboard_name}", "--for=jsonpath={.spec.title}=Two", "--timeout=30s")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kubectl.environment) as process:
        kubectl("patch", "dashboard", dashboard_name, "--type=merge", "--patch", '{"spec": {"title": "Two"}}')
        output, _ = process.communicate(timeout=40)
    assert (process.returncode, output.strip()) == (0, f"dashboard.{GROUP}/{dashboard_name} condition met")
    kubectl("delete", "dashboard", dashboard_name)
    kubectl("wait", f"dashboard/{dashboard_name}", "--for=delete", "--timeout=10s")


def test_delete_waits_until_the_object_is_deleted(kubectl: Kubectl, dashboard_name: str) -> None:
    """A delete waits until the object is deleted."""
    run = kubectl("delete", "dashboard", dashboard_name)
    run.check_requests(f"DELETE {ITEMS}/{dashboard_name}", f"GET {ITEMS}/{dashboard_name}")
    assert "deleted" in run.out
    assert "NotFound" in kubectl("delete", "dashboard", dashboard_name, status=1).err


def test_a_folder_is_deleted_with_its_content_on_request(kubectl: Kubectl, name: str) -> None:
    """A folder with a dashboard is deleted only with ``--cascade``, together with its content."""
    folder = {"apiVersion": "folder.grafana.app/v0alpha1", "kind": "Folder", "metadata": {"name": name}, "spec": {"title": "F"}}
    kubectl("create", "-f", "-", document=folder)
    inner_dashboard = dashboard(f"{name}-in")
    inner_dashboard["metadata"]["annotations"] = {"grafana.app/folder": name}
    kubectl("create", "-f", "-", document=inner_dashboard)
    assert name in kubectl("get", "folders").out
    assert "empty" in kubectl("delete", "folder", name, status=1).err
    kubectl("delete", "folder", name, "--cascade=foreground")
    kubectl("get", "dashboard", f"{name}-in", status=1)


@pytest.mark.parametrize("context", ["token", "password"])
def test_a_token_and_a_password_are_accepted(kubectl: Kubectl, context: str) -> None:
    """A token and a password are accepted."""
    kubectl("get", "dashboards", f"--context={context}")


def test_wrong_credentials_are_refused(kubectl: Kubectl) -> None:
    """The error for wrong credentials says that the caller is not logged in."""
    run = kubectl("get", "dashboards", "--token=glsa_wrong", "--username=", status=1)
    assert "logged in" in run.err or "Unauthorized" in run.err


def test_auth_can_i_is_refused_with_the_accepted_types(kubectl: Kubectl) -> None:
    """A check of permissions sends only protobuf, which is refused with the accepted types."""
    run = kubectl("auth", "can-i", "create", "dashboards", status=1)
    run.check_requests("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    assert "UnsupportedMediaType" in run.err


def test_only_administrators_list_all_namespaces(kubectl: Kubectl, dashboard_name: str) -> None:
    """A server administrator lists all namespaces; a service account belongs to one."""
    run = kubectl("get", "dashboards", "--all-namespaces", "--context=password")
    assert ["default", dashboard_name, "One"] in [row.split()[:3] for row in run.out.splitlines()]
    assert "Forbidden" in kubectl("get", "dashboards", "--all-namespaces", status=1).err


def test_the_status_of_a_repository_is_patched_separately(kubectl: Kubectl, name: str) -> None:
    """The status of a repository is read and patched separately."""
    spec = {"title": "R", "type": "local", "local": {"path": name}, "sync": {"enabled": False, "target": "folder"}, "workflows": []}
    body = {"apiVersion": "provisioning.grafana.app/v0alpha1", "kind": "Repository", "metadata": {"name": name}, "spec": spec}
    kubectl("create", "-f", "-", document=body)
    patch = '{"status": {"observedGeneration": 1}}'
    kubectl("patch", "repository", name, "--subresource=status", "--type=merge", "--patch", patch)
    assert kubectl("get", "repository", name, "--subresource=status", "--output=jsonpath={.status.observedGeneration}").out == "1"
    kubectl("delete", "repository", name, "--wait=false")


def test_the_probes_of_kubernetes_respond(kubectl: Kubectl) -> None:
    """The health endpoints of Kubernetes respond."""
    for path in ("/healthz", "/readyz", "/livez"):
        kubectl("get", "--raw", path)


def test_every_version_is_served(kubectl: Kubectl, plural: str, manifest: dict[str, Any]) -> None:
    """An object is applied, changed by server-side apply, read and deleted in each version of its kind."""
    group, _, version = manifest["apiVersion"].partition("/")
    resource_type, name = f"{plural}.{version}.{group}", manifest["metadata"]["name"]
    kubectl("apply", "--filename=-", document=manifest)
    changed = {**manifest, "spec": {**manifest["spec"], "title": "Two"}}
    kubectl("apply", "--server-side", "--force-conflicts", "--filename=-", document=changed)
    read = kubectl("get", resource_type, name, "--output=json").json
    assert (read["apiVersion"], read["kind"]) == (manifest["apiVersion"], manifest["kind"])
    assert read["spec"] | changed["spec"] == read["spec"]
    assert kubectl("apply", "--server-side", "--filename=-", document=changed).out.endswith("serverside-applied\n")
    kubectl("delete", resource_type, name)
