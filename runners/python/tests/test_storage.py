"""Storage: both signature families, confinement, atomic merged writes, and nothing lost."""

import copy
import io
import json
import multiprocessing
import os
import pathlib
import threading
import unittest
import uuid

from shim_path import DataFolderTest

import roost_host
from local_storage import AzureFileStorageManager
from utils import azure_file_storage, dynamics_storage, storage_factory, workspace

SHARED = "shared_memories/memory.json"
PROCESSES = 16
RECORDS_EACH = 10


def add_records(storage):
    for _ in range(RECORDS_EACH):
        records = storage.read_json()
        records[str(uuid.uuid4())] = {"by": os.getpid()}
        storage.write_json(records)


def add_records_with_a_new_object():
    add_records(storage_factory.get_storage_manager())


class Names(DataFolderTest):
    def test_every_import_path_gives_the_same_storage(self):
        self.assertIs(azure_file_storage.AzureFileStorageManager, AzureFileStorageManager)
        self.assertIsInstance(storage_factory.get_storage_manager(), AzureFileStorageManager)
        self.assertIsInstance(dynamics_storage.DynamicsStorageManager(), AzureFileStorageManager)

    def test_attributes_are_those_of_the_kernels(self):
        storage = AzureFileStorageManager("share", connection="ignored")
        self.assertEqual(
            (storage.current_guid, storage.current_memory_path, storage.shared_memory_path, storage.default_file_name),
            (None, "shared_memories", "shared_memories", "memory.json"),
        )
        self.assertEqual(AzureFileStorageManager.DEFAULT_MARKER_GUID, "c0p110t0-aaaa-bbbb-cccc-123456789abc")


class MemoryContext(DataFolderTest):
    def test_a_valid_guid_has_a_file_of_its_own(self):
        storage = AzureFileStorageManager()
        guid = str(uuid.uuid4())
        self.assertIs(storage.set_memory_context(guid), True)
        storage.write_json({"a": 1})
        self.assertEqual(storage.current_guid, guid)
        self.assertEqual(json.loads((self.data / "memory" / guid / "user_memory.json").read_text()), {"a": 1})

    def test_no_guid_and_the_marker_guid_mean_shared_memory(self):
        storage = AzureFileStorageManager()
        for guid in (None, "", AzureFileStorageManager.DEFAULT_MARKER_GUID):
            storage.set_memory_context("someone")
            self.assertIs(storage.set_memory_context(guid), True)
            self.assertIsNone(storage.current_guid)
            self.assertEqual(storage.current_memory_path, "shared_memories")

    def test_an_invalid_guid_falls_back_to_shared_memory_and_says_so(self):
        storage = AzureFileStorageManager()
        for guid in ("../../etc", "a/b", "a b", "x" * 65, "a\n", "a\0", "é", "."):
            storage.set_memory_context("someone")
            self.assertIs(storage.set_memory_context(guid), False, guid)
            self.assertEqual((storage.current_guid, storage.current_memory_path), (None, "shared_memories"))


class Json(DataFolderTest):
    def test_missing_memory_is_empty_and_stored_memory_is_indented_json(self):
        storage = AzureFileStorageManager()
        self.assertEqual(storage.read_json(), {})
        storage.write_json({"a": {"at": uuid.UUID(int=0)}})
        expected = json.dumps({"a": {"at": str(uuid.UUID(int=0))}}, indent=2)
        self.assertEqual((self.data / SHARED).read_text(), expected)

    def test_a_path_can_be_given(self):
        storage = AzureFileStorageManager()
        storage.write_json([1], "lists/one.json")
        self.assertEqual(storage.read_json("lists/one.json"), [1])
        self.assertEqual(storage.read_json(file_path="lists/one.json"), [1])
        self.assertEqual(storage.read_json(None), {})

    def test_data_that_is_no_json_changes_nothing(self):
        storage = AzureFileStorageManager()
        storage.write_json({"a": 1})
        circular = {}
        circular["self"] = circular
        with self.assertRaises(ValueError):
            storage.write_json(circular)
        self.assertEqual(storage.read_json(), {"a": 1})

    def test_a_write_leaves_no_other_files_behind(self):
        AzureFileStorageManager().write_json({"a": 1})
        self.assertEqual(os.listdir(self.data / "shared_memories"), ["memory.json"])


class Merging(DataFolderTest):
    def setUp(self):
        super().setUp()
        self.mine, self.theirs = AzureFileStorageManager(), AzureFileStorageManager()

    def check(self, before, mine, theirs, expected):
        path = f"{uuid.uuid4()}.json"
        self.mine.write_json(before, path)
        self.mine.read_json(path)
        self.theirs.read_json(path)
        self.theirs.write_json(theirs, path)
        self.mine.write_json(mine, path)
        self.assertEqual(json.dumps(self.theirs.read_json(path), sort_keys=True), json.dumps(expected, sort_keys=True))

    def test_additions_of_both_are_kept(self):
        self.check({}, {"a": 1}, {"b": 2}, {"a": 1, "b": 2})
        self.check({"x": {}}, {"x": {"a": 1}}, {"x": {"b": 2}}, {"x": {"a": 1, "b": 2}})
        self.check({}, {"x": {"a": 1}}, {"x": {"b": 2}}, {"x": {"a": 1, "b": 2}})

    def test_removals_of_both_are_applied(self):
        self.check({"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 3}, {"a": 1, "c": 3}, {"c": 3})
        self.check({"x": {"a": 1, "b": 2}}, {"x": {"b": 2}}, {"x": {"a": 1, "b": 2}, "y": 1}, {"x": {"b": 2}, "y": 1})

    def test_what_only_they_changed_stays_theirs(self):
        self.check({"a": 1, "b": [1]}, {"a": 1, "b": [1], "c": 1}, {"a": 2, "b": [1, 2]}, {"a": 2, "b": [1, 2], "c": 1})

    def test_where_both_changed_the_same_value_the_later_write_wins(self):
        self.check({"a": 1}, {"a": 3}, {"a": 2}, {"a": 3})
        self.check({"a": 1}, {"a": 3}, {}, {"a": 3})

    def test_a_change_of_type_alone_is_a_change(self):
        self.check({"a": 1}, {"a": True}, {"a": 1, "b": 2}, {"a": True, "b": 2})

    def test_without_a_read_a_write_replaces_the_file(self):
        self.theirs.write_json({"old": 1})
        self.mine.write_json({"new": 1})
        self.assertEqual(self.theirs.read_json(), {"new": 1})

    def test_writing_the_same_dict_twice_does_not_remove_what_others_added_between(self):
        records = self.mine.read_json()
        records["mine 1"] = 1
        self.theirs.read_json()
        self.theirs.write_json({"theirs": 1})
        self.mine.write_json(records)
        records["mine 2"] = 2
        self.mine.write_json(records)
        self.assertEqual(self.theirs.read_json(), {"theirs": 1, "mine 1": 1, "mine 2": 2})

    def test_after_a_delete_a_write_starts_a_new_file(self):
        self.mine.write_json({"a": 1}, "x.json")
        self.assertEqual(self.mine.read_json("x.json"), {"a": 1})
        self.mine.delete_file("x.json")
        self.mine.write_json({"a": 1}, "x.json")
        self.assertEqual(self.mine.read_json("x.json"), {"a": 1})


class ManyWriters(DataFolderTest):
    def run_in_processes(self, target, *arguments):
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=target, args=arguments) for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        self.assertEqual([worker.exitcode for worker in workers], [0] * PROCESSES)
        self.assertEqual(len(AzureFileStorageManager().read_json()), PROCESSES * RECORDS_EACH)

    def test_records_of_sixteen_processes_are_all_kept(self):
        self.run_in_processes(add_records_with_a_new_object)

    def test_records_are_all_kept_when_one_object_was_made_before_the_fork(self):
        self.run_in_processes(add_records, AzureFileStorageManager())

    def test_records_of_threads_are_all_kept(self):
        threads = [threading.Thread(target=add_records_with_a_new_object) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(len(AzureFileStorageManager().read_json()), 8 * RECORDS_EACH)


class CorruptFiles(DataFolderTest):
    def corrupt(self, content):
        path = self.data / SHARED
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def test_a_half_written_file_reads_as_empty_and_its_bytes_are_kept_on_the_next_write(self):
        for number, content in enumerate((b'{"a": {"message": "h', b"\xff\xfe\x00", b"[" * 100_000), start=1):
            self.corrupt(content)
            storage = AzureFileStorageManager()
            records = storage.read_json()
            self.assertEqual(records, {})
            storage.write_json({"new": number})
            self.assertEqual(storage.read_json(), {"new": number})
            self.assertEqual((self.data / f"{SHARED}.corrupt-{number}").read_bytes(), content)

    def test_what_is_still_in_memory_is_written_in_full_over_a_corrupt_file(self):
        storage = AzureFileStorageManager()
        storage.write_json({"a": 1})
        records = storage.read_json()
        self.corrupt(b'{"a"')
        records["b"] = 2
        storage.write_json(records)
        self.assertEqual(storage.read_json(), {"a": 1, "b": 2})

    def test_an_empty_file_has_nothing_worth_keeping(self):
        self.corrupt(b"")
        AzureFileStorageManager().write_json({"a": 1})
        self.assertEqual(os.listdir(self.data / "shared_memories"), ["memory.json"])


class Files(DataFolderTest):
    def setUp(self):
        super().setUp()
        self.storage = AzureFileStorageManager()

    def test_the_local_form_takes_one_path(self):
        storage = self.storage
        self.assertIsNone(storage.read_file("notes/a.txt"))
        self.assertTrue(storage.write_file("notes/a.txt", "häi\r\n"))
        self.assertEqual(storage.read_file("notes/a.txt"), "häi\r\n")
        self.assertTrue(storage.file_exists("notes/a.txt"))
        self.assertTrue(storage.delete_file("notes/a.txt"))
        self.assertFalse(storage.delete_file("notes/a.txt"))
        self.assertFalse(storage.file_exists("notes/a.txt"))

    def test_the_cloud_form_takes_directory_and_name(self):
        storage = self.storage
        self.assertIs(storage.write_file("notes", "a.txt", "one"), True)
        self.assertIs(storage.write_file("notes", "b.pdf", b"%PDF"), True)
        self.assertIs(storage.write_file("notes", "c.bin", io.BytesIO(b"\x00\xff")), True)
        self.assertIs(storage.write_file("notes", "d.txt", io.StringIO("four")), True)
        self.assertEqual(storage.read_file("notes", "a.txt"), "one")
        self.assertEqual(storage.read_file("notes", "b.pdf"), b"%PDF")
        self.assertEqual(storage.read_file("notes/c.bin"), b"\x00\xff")
        self.assertEqual(storage.read_file("notes/d.txt"), "four")
        self.assertEqual(storage.read_file_binary("notes", "a.txt"), b"one")
        self.assertTrue(storage.file_exists("notes", "a.txt"))
        self.assertTrue(storage.delete_file("notes", "a.txt"))

    def test_keyword_forms_of_both_lineages_work(self):
        storage = self.storage
        storage.write_file(directory_name="notes", file_name="a.txt", content="one")
        storage.write_file(file_path="notes/b.txt", content="two")
        storage.write_file("notes", "c.txt", content="three")
        self.assertEqual(storage.read_file(file_path="notes/a.txt"), "one")
        self.assertEqual(storage.read_file(directory_name="notes", file_name="b.txt"), "two")
        self.assertEqual(storage.read_file("notes/c.txt"), "three")
        with self.assertRaises(TypeError):
            storage.read_file("a", "b", "c")
        with self.assertRaises(TypeError):
            storage.write_file("a", {"no": "text"})

    def test_listed_names_are_text_and_objects_and_hide_the_stores_own_files(self):
        self.storage.write_file("notes/a.txt", "one")
        self.storage.ensure_directory_exists("notes/deeper")
        listed = self.storage.list_files("notes")
        self.assertEqual(listed, ["a.txt", "deeper"])
        self.assertEqual([(item.name, item.is_directory) for item in listed], [("a.txt", False), ("deeper", True)])
        self.assertEqual(self.storage.list_files(), ["notes"])
        self.assertEqual(self.storage.list_files("missing"), [])
        self.assertTrue(copy.deepcopy(listed)[1].is_directory)

    def test_properties_and_address_of_a_file(self):
        self.storage.write_file("notes", "a.txt", "one")
        properties = self.storage.get_file_properties("notes", "a.txt")
        self.assertEqual((properties.name, properties["size"], properties.is_directory), ("a.txt", 3, False))
        address = self.storage.generate_download_url("notes", "a.txt", expiry_minutes=5)
        self.assertEqual(address, (self.data / "notes" / "a.txt").as_uri())
        self.assertIsNone(self.storage.get_file_properties("notes", "b.txt"))
        self.assertIsNone(self.storage.generate_download_url("notes", "b.txt"))


class Confinement(DataFolderTest):
    def refused(self, *parts):
        storage = AzureFileStorageManager()
        for use in (
            lambda: storage.read_file(*parts),
            lambda: storage.write_file(*parts, "x"),
            lambda: storage.delete_file(*parts),
            lambda: storage.file_exists(*parts),
            lambda: storage.read_json(*parts),
            lambda: storage.write_json({}, *parts),
            lambda: storage.read_file_binary(*parts),
            lambda: storage.get_file_properties(*parts),
            lambda: storage.generate_download_url(*parts),
            lambda: storage.list_files("/".join(parts)),
            lambda: storage.ensure_directory_exists("/".join(parts)),
        ):
            with self.assertRaisesRegex(PermissionError, "refused: .*; use a relative path"):
                use()

    def test_absolute_paths_are_refused(self):
        self.refused("/etc/hostname")
        self.refused("/etc", "hostname")
        self.refused("\\etc\\hostname")

    def test_climbing_paths_are_refused(self):
        self.refused("../outside.txt")
        self.refused("a/../../outside.txt")
        self.refused("a", "../b")
        self.refused("..\\outside.txt")

    def test_nul_and_the_stores_own_names_are_refused(self):
        self.refused("a\0b")
        self.refused(".roost-locks/00")

    def test_links_leading_out_are_refused_and_links_inside_work(self):
        storage = AzureFileStorageManager()
        storage.write_file("real/a.txt", "one")
        (self.outside / "secret.txt").write_text("secret")
        (self.data / "out").symlink_to(self.outside)
        (self.data / "file").symlink_to(self.outside / "secret.txt")
        (self.data / "in").symlink_to(self.data / "real")
        self.refused("out/secret.txt")
        self.refused("out", "new.txt")
        self.refused("file")
        self.assertEqual(storage.read_file("in/a.txt"), "one")
        self.assertEqual((self.outside / "secret.txt").read_text(), "secret")

    def test_a_data_folder_behind_a_link_is_no_way_out(self):
        (self.outside / "elsewhere").mkdir()
        link = self.outside / "link"
        link.symlink_to(self.outside / "elsewhere")
        roost_host.attach(None, None, link)
        storage = AzureFileStorageManager()
        storage.write_file("a.txt", "one")
        self.assertEqual((self.outside / "elsewhere" / "a.txt").read_text(), "one")


class Workspace(DataFolderTest):
    def test_the_folder_belongs_to_the_identity_given_by_the_host(self):
        __manifest__ = {"name": "@someone/else"}  # what the calling code claims is of no interest
        folder = workspace.workspace_dir()
        self.assertEqual(folder, self.data / "workspaces" / "sample_agent")
        self.assertTrue(folder.is_dir())
        self.assertIsInstance(folder, pathlib.Path)
        self.assertTrue(__manifest__)

    def test_without_a_host_there_is_no_workspace(self):
        roost_host.attach(None, None, self.data)
        with self.assertRaisesRegex(roost_host.HostCallFailed, "roost run"):
            workspace.workspace_dir()

    def test_files_are_written_read_and_listed_by_name(self):
        workspace.write_text("b.csv", "1,2\r\n")
        workspace.write_text("in/a.md", "é")
        self.assertEqual(workspace.read_text("in/a.md"), "é")
        self.assertEqual((workspace.workspace_dir() / "b.csv").read_bytes(), b"1,2\r\n")
        listed = workspace.list_files()
        self.assertEqual([(file["name"], file["size"], file["mime"]) for file in listed][0], ("b.csv", 5, "text/csv"))
        self.assertEqual([file["name"] for file in listed], ["b.csv", "in/a.md"])
        self.assertIsInstance(listed[0]["mtime"], int)
        with self.assertRaises(FileNotFoundError):
            workspace.read_text("none.md")

    def test_names_that_lead_out_are_refused(self):
        outside = self.outside / "outside.txt"
        outside.write_text("secret")
        (workspace.workspace_dir() / "link").symlink_to(outside)
        names = ["", ".", "..", "a/../b", "../x", "/etc/passwd", "\\x", "a\\..\\b", "C:x", "c:/x", "a\0b", "a//b", "a/", "link"]
        for name in [*names, ".roost-x"]:
            for use in (workspace.read_text, lambda name: workspace.write_text(name, "x")):
                with self.subTest(name), self.assertRaises(PermissionError):
                    use(name)
        self.assertEqual(outside.read_text(), "secret")
        self.assertEqual(workspace.list_files(), [])

    def test_a_failed_write_leaves_what_was_there(self):
        workspace.write_text("a.md", "one")
        for content in (b"bytes", "\ud800"):
            with self.assertRaises((TypeError, UnicodeEncodeError)):
                workspace.write_text("a.md", content)
        self.assertEqual(os.listdir(workspace.workspace_dir()), ["a.md"])
        self.assertEqual(workspace.read_text("a.md"), "one")


if __name__ == "__main__":
    unittest.main()
