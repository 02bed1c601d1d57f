//! Evidence in Python: what it leads to, and what is none.

use super::with_lines;
use roost_protocol::Language;

fn check(text: &str, expected: &[&str]) {
    super::check(Language::Python, text, expected);
}

#[test]
fn variables_are_asked_for_however_they_are_read() {
    check("import os\nx = os.environ['A']\n", &["env:A"]);
    check("import os as o\nx = o.environ.get('A', 1), o.getenv('B')\n", &["env:A", "env:B"]);
    check(
        "from os import environ as e, getenv\nx = e['A'], getenv('B'), e.get(key='C')\n",
        &["env:A", "env:B", "env:C"],
    );
    check("import os\nif 'A' in os.environ or 'B' not in os.environ: pass\n", &["env:A", "env:B"]);
    check(
        "import os\nKEY = 'A'\nclass X:\n    NAME = 'B'\n    def f(self):\n        return os.environ[KEY] + os.getenv(self.NAME)\n",
        &["env:A", "env:B"],
    );
    check(
        "import os\nP = 'MY'\nx = os.getenv(f'{P}_KEY'), os.getenv(P + '_TOKEN')\n",
        &["env:MY_KEY", "env:MY_TOKEN"],
    );
    check("import os\nenv = os.environ\nx = env['A']\n", &["env:A"]);
    check("import os\nfor k in ('A', 'B'):\n    os.environ[k]\n", &["env:A", "env:B"]);
    check("import os\nNEED = ['A', 'B']\nx = [k for k in NEED if not os.getenv(k)]\n", &["env:A", "env:B"]);
    check("import os\nx = os.environ['A'] + os.environ['B'] + os.environ['A']\n", &["env:A", "env:B"]);
}

#[test]
fn variables_that_are_set_or_come_with_every_agent_are_not_asked_for() {
    check("import os\nos.environ['A'] = '1'\ndel os.environ['B']\n", &[]);
    check("import os\nx = os.environ['PATH'], os.getenv('ROOST_HOME'), os.getenv('PORT')\n", &[]);
    check("import os\ndef f(name):\n    return os.environ[name]\nname = 'A'\n", &[]);
    check("import os\nx = os.environ['1A'], os.getenv('Ä'), os.getenv('a b'), os.getenv('')\n", &[]);
    check("environ = {}\nx = environ['A']\n", &[]);
}

#[test]
fn computers_are_found_in_addresses() {
    check(
        "x = 'https://a.example/x'\ny = \"http://b.example:8080\"\n",
        &["network:a.example", "network:b.example:8080"],
    );
    check("x = f'https://a.example/{y}'\n", &["network:a.example"]);
    check("H = 'a.example'\nx = f'https://{H}/{y}'\n", &["network:a.example"]);
    check("H = 'a.example'\nx = 'https://' + H + '/x'\n", &["network:a.example"]);
    check("x = 'https://api.' + region + '.example'\n", &[]);
    check("x = 'https://a.example' + path\n", &["network:a.example"]);
    check("x = f'https://{host}/x'\n", &[]);
    check("x = 'wss://{}.example'.format(y)\n", &[]);
    check(
        "x = ['http://localhost:1', 'http://127.0.0.1', 'http://[::1]:2']\n",
        &["network:localhost:1", "network:127.0.0.1", "network:[::1]:2"],
    );
    check("def f(x='https://a.example'): pass\n", &["network:a.example"]);
}

#[test]
fn addresses_for_readers_are_not_reached() {
    check(
        "'''https://a.example'''\n# https://b.example\nclass X:\n    'https://c.example'\n    def f(self):\n        'https://d.example'\n",
        &[],
    );
    check("__manifest__ = {'homepage': 'https://a.example'}\n", &[]);
    check(
        "x = {'$schema': 'https://a.example', '$id': 'https://b.example', 'xmlns': 'http://c.example', 'u': 'https://d.example'}\n",
        &["network:d.example"],
    );
    check("x = dict(description='https://a.example', url='https://b.example')\n", &["network:b.example"]);
    check("x = 'http://www.w3.org/2000/svg'\n", &[]);
    check("def f(x: 'https://a.example') -> 'https://b.example': pass\n", &[]);
}

#[test]
fn connections_by_name_keep_their_port() {
    check("import socket\nsocket.create_connection(('a.example', 80))\n", &["network:a.example"]);
    check(
        "import socket\ns = socket.socket()\ns.connect(('a.example', 8080))\n",
        &["network:a.example:8080"],
    );
    check(
        "import smtplib\nsmtplib.SMTP('a.example', 587)\nsmtplib.SMTP_SSL('b.example')\n",
        &["network:a.example:587", "network:b.example:465"],
    );
    check(
        "from http.client import HTTPSConnection as H\nH('a.example')\nH('b.example:8443')\n",
        &["network:a.example", "network:b.example:8443"],
    );
    check("import ftplib\nHOST = 'a.example'\nftplib.FTP(HOST)\n", &["network:a.example:21"]);
    check(
        "import paramiko\nc = paramiko.SSHClient()\nc.connect('a.example', username='me')\n",
        &["network:a.example:22"],
    );
    check("import redis\nredis.Redis(host='a.example', port=6380)\n", &["network:a.example:6380"]);
}

#[test]
fn a_network_library_asks_for_everything_only_when_no_computer_is_named() {
    check("import requests\nrequests.get(url)\n", &["network:*"]);
    check("import requests\nrequests.get('https://a.example')\n", &["network:a.example"]);
    check("import urllib.parse\nimport http\n", &[]);
    check("from urllib import request\n", &["network:*"]);
    check("from urllib.request import urlopen\n", &["network:*"]);
    check(
        "def f():\n    try:\n        import httpx\n    except ImportError:\n        import requests\n",
        &["network:*"],
    );
    check(
        "import openai, anthropic\nimport requests\n",
        &["network:api.anthropic.com", "network:api.openai.com"],
    );
    check("from github import Github\n", &["network:api.github.com"]);
    check("import openai\nc = openai.OpenAI(base_url='https://a.example/v1')\n", &["network:a.example"]);
    assert_eq!(with_lines(Language::Python, "\n\nimport boto3\nimport requests\n"), ["3 network:*"]);
}

#[test]
fn programs_are_asked_for_when_they_can_be_started() {
    for text in [
        "import subprocess\n",
        "from subprocess import run\n",
        "import pty\n",
        "import os\nos.system('ls')\n",
        "import os\nrun = os.popen\n",
        "import os\nos.execvp('a', [])\n",
        "import os\nos.spawnlp(1, 'a')\n",
        "from os import posix_spawn\n",
        "import asyncio\nasync def f():\n    await asyncio.create_subprocess_exec('a')\n",
    ] {
        check(text, &["subprocess"]);
    }
    check("import shutil, multiprocessing, platform\nshutil.which('git'); platform.system()\n", &[]);
}

#[test]
fn places_in_the_home_folder_are_asked_for_by_their_first_folder() {
    check("import os\nD = os.path.expanduser('~/.agent/data')\n", &["files:read:~/.agent"]);
    check("from pathlib import Path\nD = Path('~/.agent/x').expanduser()\n", &["files:read:~/.agent"]);
    check("from pathlib import Path\nD = Path.home() / '.agent' / 'x'\n", &["files:read:~/.agent"]);
    check("import pathlib\nH = pathlib.Path.home()\nD = H.joinpath('.agent', x)\n", &["files:read:~/.agent"]);
    check("import os\nD = os.path.join(os.path.expanduser('~'), '.agent', 'x')\n", &["files:read:~/.agent"]);
    check("import os\nD = os.path.join(os.environ['HOME'], '.agent')\n", &["files:read:~/.agent"]);
    check(
        "import os\nD = os.path.join(os.environ.get('HOME', '/root'), '.agent')\n",
        &["files:read:~/.agent"],
    );
    check(
        "import os\nH = os.path.expanduser('~')\nD = f'{H}/.agent/x'\nE = H + '/notes'\n",
        &["files:read:~/.agent", "files:read:~/notes"],
    );
    check(
        "import os\nN = '~/.agent'\nclass A:\n    def __init__(self):\n        self.d = os.path.expanduser(N)\n    def f(self):\n        open(os.path.join(self.d, 'x'), 'w')\n",
        &["files:write:~/.agent"],
    );
    check("import os\nD = os.path.expandvars('$HOME/.agent')\n", &["files:read:~/.agent"]);
    check("from pathlib import Path\nx = list(Path.home().iterdir())\n", &["files:read:~"]);
    check("x = '~/.agent'\nopen('~/x')\n", &[]);
}

#[test]
fn absolute_paths_are_asked_for_where_files_are_used() {
    check("open('/srv/a.json')\n", &["files:read:/srv/a.json"]);
    check("open('/srv/a.json', mode='w')\n", &["files:write:/srv"]);
    check("import os\nD = '/srv/data'\nos.makedirs(D)\n", &["files:write:/srv/data"]);
    check(
        "from pathlib import Path\nx = (Path('/srv/data') / 'a').read_text()\n",
        &["files:read:/srv/data/a"],
    );
    check("import sqlite3\nsqlite3.connect('/srv/a.db')\nsqlite3.connect('b.db')\n", &["files:write:/srv"]);
    check("import os\nos.listdir(f'/srv/{x}/y')\n", &["files:read:/srv"]);
    check("import shutil\nshutil.copy('/a/b', '/c/d')\n", &["files:write:/a/b", "files:write:/c/d"]);
    check(
        "from pathlib import Path\nopen('/tmp/x', 'w'); open('/dev/null'); Path('/usr/share'); open('/proc/1/stat'); Path('/')\n",
        &[],
    );
    check("x = '/api/v1'\ny = route('/users')\nopen('a/b')\nopen('/../x')\n", &[]);
}

#[test]
fn writing_anywhere_makes_the_places_writable() {
    for write in [
        "open(x, 'a')",
        "open(x, mode)",
        "p.open('w')",
        "p.write_text('x')",
        "p.mkdir()",
        "os.makedirs(x)",
        "shutil.rmtree(x)",
        "p.rename(y)",
        "frame.to_csv(x)",
    ] {
        check(&format!("import os, shutil\nD = os.path.expanduser('~/a')\n{write}\n"), &["files:write:~/a"]);
    }
    for read in [
        "open(x)",
        "open(x, 'rb')",
        "p.open()",
        "p.read_text()",
        "frame.rename(columns=x)",
        "'a'.replace('b', 'c')",
    ] {
        check(&format!("import os\nD = os.path.expanduser('~/a')\n{read}\n"), &["files:read:~/a"]);
    }
}

#[test]
fn what_the_kernels_offer_is_asked_for_by_its_names() {
    check("from utils.azure_file_storage import AzureFileStorageManager\n", &["memory:write"]);
    check("from utils import storage_factory\n", &["memory:write"]);
    check("import local_storage\n", &["memory:write"]);
    check("from utils.llm import call_llm\n", &["model"]);
    check("import brainstem\nbrainstem.call_copilot([])\n", &["model"]);
    check("import __main__\nf = getattr(__main__, 'call_copilot', None)\n", &["model"]);
    check("import roost_host\nroost_host.call('model.complete', {})\n", &["model"]);
    check("def call_llm(x): pass\ncall_llm(1)\n", &[]);
    check("import roost_host\nroost_host.call('other', {})\n", &[]);
}

#[test]
fn other_agents_are_asked_for() {
    check(
        "from agents.basic_agent import BasicAgent\nfrom basic_agent import BasicAgent\nimport openrappter.agents.basic_agent\n",
        &[],
    );
    check("from agents.weather_agent import WeatherAgent\n", &["agents:read"]);
    check("from agents import weather_agent\n", &["agents:read"]);
    check("from .weather_agent import WeatherAgent\n", &["agents:read"]);
    check("from . import weather_agent\n", &["agents:read"]);
    check("from .basic_agent import BasicAgent\nfrom .shapes import Shape\n", &[]);
    check("import os\nx = os.environ['AGENTS_PATH']\n", &["agents:read"]);
    check(
        "import os\nx = os.environ.get('AGENTS_PATH')\nopen(x + '/new_agent.py', 'w')\n",
        &["agents:write"],
    );
    check(
        "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\nx = os.listdir(HERE)\n",
        &["agents:read"],
    );
    check(
        "from pathlib import Path\nx = Path(__file__).resolve().parent.glob('*_agent.py')\n",
        &["agents:read"],
    );
    check(
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nopen(os.path.join(os.path.dirname(__file__), 'data.json'))\n",
        &["agents:read"],
    );
    check("import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport beside\n", &["agents:read"]);
    check("import os\nopen(os.path.join(os.path.dirname(__file__), 'x.json'), 'w')\n", &["agents:write"]);
}

#[test]
fn a_whole_agent_asks_for_what_it_uses_and_where() {
    assert_eq!(
        with_lines(Language::Python, include_str!("../fixtures/github_digest_agent.py")),
        [
            "19 memory:write",
            "20 model",
            "30 network:api.github.com",
            "33 files:write:~/.github_digest",
            "50 env:GITHUB_TOKEN",
            "50 env:GH_TOKEN",
            "51 env:SLACK_CHANNEL",
            "51 env:SLACK_WEBHOOK_HOST",
            "52 env:DIGEST_DEBUG",
            "63 network:hooks.slack.com",
        ]
    );
}
