//! The closed list of reasons: every state that is not "works" carries one of these codes.
//!
//! A code is stable; the sentence and the next step may be reworded. A failure adds what was seen.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct as _};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal, $sentence:literal, $next:literal;)+) => {
        /// Why something does not work. Codes never change their meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $doc])+ #[serde(rename = $code)] $variant,)+
        }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &[Reason] = &[$(Reason::$variant,)+];

            /// The stable code, as it stands in JSON and in the documentation.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Reason::$variant => $code,)+ }
            }

            /// One sentence for a person.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Reason::$variant => $sentence,)+ }
            }

            /// What to do about it, when the failure itself names nothing better.
            #[must_use]
            pub fn next(self) -> &'static str {
                match self { $(Reason::$variant => $next,)+ }
            }
        }
    };
}

reasons! {
    /// The file's name cannot be an agent's.
    InvalidFileName = "invalid_file_name", "The file name has characters an agent file cannot have.",
        "rename the file using letters, digits, `_`, `-` and `.` only";
    /// A directory, FIFO, socket or device stands where a file should.
    NotAFile = "not_a_file", "This is not a regular file.", "replace it with a file, or move it out of the agents folder";
    /// A symbolic link leads out of the agents folder.
    SymlinkOutside = "symlink_outside", "The link points outside the agents folder.", "copy the file into the agents folder";
    /// The operating system refused to read the file.
    Unreadable = "unreadable", "The file cannot be read.", "check that the file exists and that you may read it";
    /// The file is larger than any agent may be.
    FileTooLarge = "file_too_large", "The file is larger than an agent may be.", "move data out of the source into a file of its own";
    /// The bytes are not text in the encoding they claim.
    WrongEncoding = "wrong_encoding", "The file is not text in the encoding it claims.", "save the file as UTF-8";
    /// A NUL byte in the source.
    NulByte = "nul_byte", "The source has a NUL byte.", "save the file as plain UTF-8 text";
    /// The source does not parse.
    SyntaxError = "syntax_error", "The source does not parse.", "fix the line that is named";
    /// The source needs a newer language version than the runtime here.
    UnsupportedSyntax = "unsupported_syntax", "The source needs a newer Python than the one found.", "install a newer Python; `roost doctor` shows which one is used";
    /// No class with `perform` in the file.
    NoAgent = "no_agent", "The file defines no agent.", "define a class with `name`, `metadata` and `perform`, or see `roost new agent`";
    /// Loading the file raised.
    ImportFailed = "import_failed", "The file raised an error while it was loaded.", "fix the line that is named";
    /// Loading the file needs a module that is not there.
    MissingModule = "missing_module", "The file imports a module that is not installed.", "declare the package in a PEP 723 block or a `# requires:` comment";
    /// The file ended the process while it was loaded.
    ExitAtImport = "exit_at_import", "The file called exit while it was loaded.", "move the call below `if __name__ == \"__main__\":`";
    /// Loading did not finish in time.
    LoadTimeout = "load_timeout", "The file did not finish loading in time.", "move slow work from the module level into `perform`";
    /// The worker died while loading.
    LoadCrashed = "load_crashed", "The process died while the file was loaded.", "see the agent's log";
    /// The class raised in its constructor.
    ConstructorFailed = "constructor_failed", "The agent's constructor raised an error.", "fix the constructor; it must work without arguments";
    /// The agent's name cannot be a tool name.
    InvalidName = "invalid_name", "The agent's name is not a tool name.", "use letters, digits, `_` and `-` only, at most 64 of them";
    /// The metadata is not an object.
    InvalidMetadata = "invalid_metadata", "The agent's metadata is not an object.", "set `metadata` to a dict with `name`, `description` and `parameters`";
    /// The metadata cannot be written as JSON.
    MetadataNotJson = "metadata_not_json", "The agent's metadata cannot be written as JSON.", "use only text, numbers, booleans, None, lists and dicts, without cycles";
    /// The parameter schema is not one a model can use.
    InvalidSchema = "invalid_schema", "The agent's parameters are not a JSON schema of an object.", "use `{\"type\": \"object\", \"properties\": {…}}`";
    /// Another agent holds the name.
    Shadowed = "shadowed", "Another agent already has this name.", "rename one of the two agents";
    /// A person switched the agent off.
    Disabled = "disabled", "The agent is switched off in the settings.", "remove `enabled = false` from its section in roost.toml";
    /// No program to run this language.
    RuntimeMissing = "runtime_missing", "No runtime for this language was found.", "see `roost doctor`";
    /// The declared dependencies cannot be read.
    DependencyInvalid = "dependency_invalid", "The declared dependencies are not valid.", "fix the PEP 723 block or the `# requires:` comment";
    /// The environment for the dependencies could not be made.
    DependencyUnavailable = "dependency_unavailable", "The packages this agent needs could not be installed.", "connect to the network once and run `roost agents --refresh`";

    /// No agent of that name.
    UnknownAgent = "unknown_agent", "No agent has this name.", "see `roost agents`";
    /// The arguments do not fit the agent.
    BadArguments = "bad_arguments", "The arguments do not fit the agent's parameters.", "see the agent's `--help`";
    /// `perform` raised.
    AgentRaised = "agent_raised", "The agent raised an error.", "see the agent's log";
    /// `perform` ended the process.
    AgentExited = "agent_exited", "The agent ended its own process.", "see the agent's log";
    /// The worker was killed by a fault.
    AgentCrashed = "agent_crashed", "The agent's process crashed.", "see the agent's log";
    /// The call took longer than allowed.
    TimeLimit = "time_limit", "The call took longer than allowed.", "raise `wall_seconds` for this agent in roost.toml";
    /// The call used more CPU time than allowed.
    CpuLimit = "cpu_limit", "The call used more CPU time than allowed.", "raise `cpu_seconds` for this agent in roost.toml";
    /// The worker used more memory than allowed.
    MemoryLimit = "memory_limit", "The agent used more memory than allowed.", "raise `memory_mb` for this agent in roost.toml";
    /// The agent printed more than allowed.
    OutputLimit = "output_limit", "The agent printed more than allowed.", "raise `output_mb` for this agent in roost.toml";
    /// The result is larger than allowed.
    ResultTooLarge = "result_too_large", "The agent's result is larger than allowed.", "return less, or write a file";
    /// The worker said something that is not in the protocol.
    ProtocolViolation = "protocol_violation", "The agent's process broke the protocol.", "see the agent's log";
    /// The agent filled its folders.
    DiskLimit = "disk_limit", "The agent wrote more to disk than allowed.", "empty its folders, or raise `disk_mb` for this agent in roost.toml";
    /// The agent tried something it has no right to.
    RightMissing = "right_missing", "The agent tried something it was not granted.", "see `roost rights` for what it asks, and `roost grant`";
    /// A right was granted or used that the app never asked for.
    RightNotAsked = "right_not_asked", "The app does not ask for this right.", "declare it in the file's `[tool.roost]` table";
    /// The policy forbids the right.
    DeniedByPolicy = "denied_by_policy", "The policy of this home forbids this right.", "change `[policy]` in roost.toml";
    /// The text is not a right.
    InvalidRight = "invalid_right", "This is not a right.", "see `roost rights --list`";
    /// The machine cannot confine agents as well as the policy demands.
    SandboxUnavailable = "sandbox_unavailable", "This machine cannot confine agents as well as the policy demands.", "see `roost doctor`; to accept less, set `require` under `[sandbox]` in roost.toml";
    /// The sandbox was there and could not be applied.
    SandboxFailed = "sandbox_failed", "The sandbox could not be applied, so the agent was not run.", "see `roost doctor`";
    /// The grant store cannot be used.
    GrantsUnusable = "grants_unusable", "The store of grants cannot be read, so nothing is granted.", "restore `grants.json` in the home folder, or remove it and grant again";
    /// The audit log cannot be written or read.
    AuditUnusable = "audit_unusable", "The audit log cannot be used.", "check the folder `audit` of the home";
    /// The audit log was changed by something else than the host.
    AuditBroken = "audit_broken", "The audit log was changed, or part of it is missing.", "see the row that is named; rows before it are intact";
    /// No such call is remembered.
    UnknownCall = "unknown_call", "No call with this id is remembered.", "call ids stand in receipts, as `call`";
    /// Too many calls of one agent wait.
    Busy = "busy", "Too many calls of this agent are waiting.", "call again later";
    /// No model is set up.
    ModelUnavailable = "model_unavailable", "No model is set up.", "see `roost models` for the ways to set one up; `/Agent key=value` works without";
    /// A provider is set up, and nobody signed in.
    NotSignedIn = "not_signed_in", "Nobody is signed in at the model's provider.", "sign in with `roost login`, or POST /login";
    /// The account may not use Copilot.
    NoCopilotAccess = "no_copilot_access", "This GitHub account has no access to Copilot.", "sign in with another account: `roost login --switch`";
    /// The provider's limit is reached.
    ModelLimited = "model_limited", "The model's provider has no more room for this account now.", "wait, or choose another model with `roost models set`";
    /// The provider answered with an error.
    ModelRefused = "model_refused", "The model's provider refused the request.", "see the detail; choose another model with `roost models set`";
    /// There is no connection to the provider.
    ModelUnreachable = "model_unreachable", "The model's provider cannot be reached.", "check the connection and the address in `roost models`";
    /// The provider did not answer in time.
    ModelSilent = "model_silent", "The model did not answer in time.", "ask again, or choose another model with `roost models set`";
    /// The provider's answer is not one.
    ModelGarbled = "model_garbled", "The model's answer cannot be understood.", "ask again, or choose another model with `roost models set`";
    /// No such model.
    UnknownModel = "unknown_model", "No model has this name.", "see `roost models`";
    /// Signing in did not work.
    LoginFailed = "login_failed", "Signing in did not work.", "try again with `roost login`";
    /// Only the owner may do this.
    OwnerOnly = "owner_only", "Only the owner of this host may do this.", "open the page with `roost open`, or send the token in `run/owner.token` of the home as `Authorization: Bearer`";
    /// A link that lets a browser in does not work any more.
    TicketInvalid = "ticket_invalid", "This link was used already, or its time is over.", "make a new one with `roost open`";
    /// The program that runs local models is not there.
    LocalModelMissing = "local_model_missing", "The program that runs local models is not installed.", "build it with `make local-model`";
    /// The local model's process did not start or died.
    LocalModelFailed = "local_model_failed", "The local model does not run.", "see logs/local-model.log in the home folder";
    /// A download did not end well.
    DownloadFailed = "download_failed", "The download did not succeed.", "check the connection and try again; nothing was kept";
    /// What arrived is not what was named.
    DigestMismatch = "digest_mismatch", "The content is not the one that was named.", "do not use it; ask its publisher";
    /// Chats called each other too deeply.
    TooDeep = "too_deep", "Chats called each other too deeply.", "look for an agent that calls the host that called it";
    /// No such conversation.
    UnknownSession = "unknown_session", "There is no conversation with this id.", "leave session_id out to begin one";
    /// No service of that name.
    UnknownService = "unknown_service", "There is no service of this name.", "put NAME_service.py into the services folder";
    /// A service raised or broke its contract.
    ServiceFailed = "service_failed", "The service did not answer properly.", "see the service's log";
    /// A source of agents cannot be read.
    SourceUnavailable = "source_unavailable", "The source of agents cannot be read.", "check the address, and that git can reach it";
    /// No such source.
    UnknownSource = "unknown_source", "There is no source of this name.", "see `roost repos`, or GET /repos";
    /// What a source of apps has is no catalog.
    CatalogInvalid = "catalog_invalid", "What is at this address is not a catalog.", "check the address in `roost store list`; a catalog is a file index.json of the form rapp-store/1.0";
    /// No catalog could be read.
    CatalogUnavailable = "catalog_unavailable", "The catalog cannot be read.", "see `roost store list` for each source, then `roost store refresh`";
    /// No such source of apps.
    UnknownCatalog = "unknown_catalog", "There is no catalog source of this name.", "see `roost store list`";
    /// One entry of a catalog cannot be used.
    EntryInvalid = "entry_invalid", "The catalog's entry cannot be used.", "ask its publisher to correct the entry";
    /// No catalog has it.
    UnknownEntry = "unknown_entry", "No catalog has an app of this name.", "look for it with `roost store search`, or bring the catalogs up to date with `roost store refresh`";
    /// Several apps have this name.
    AmbiguousEntry = "ambiguous_entry", "More than one app has this name.", "name the publisher too, as in @publisher/id";
    /// The catalog does not offer this version.
    UnknownVersion = "unknown_version", "The catalog does not offer this version.", "see `roost store show` for the versions there are";
    /// The address is not one that is asked.
    AddressRefused = "address_refused", "This address is not used.", "use an https address; http is for this machine only";
    /// No connection.
    FetchUnreachable = "fetch_unreachable", "The other side cannot be reached.", "check the connection and the address; nothing was kept";
    /// No answer, or no end of it, in time.
    FetchSlow = "fetch_slow", "The other side did not finish its answer in time.", "try again; nothing was kept";
    /// 404 or 410.
    FetchMissing = "fetch_missing", "The other side has nothing at this address.", "ask the publisher, or bring the catalogs up to date with `roost store refresh`";
    /// 401 or 403.
    FetchDenied = "fetch_denied", "The other side does not give this to whoever asks.", "ask the publisher who may have it; nothing was kept";
    /// Any other status than success.
    FetchRefused = "fetch_refused", "The other side answered with an error.", "try again later; nothing was kept";
    /// Sent on too often, or to where it must not go.
    FetchRedirected = "fetch_redirected", "The other side sent the request to where it does not go.", "ask the publisher for the right address; nothing was kept";
    /// More than is taken.
    FetchTooLarge = "fetch_too_large", "The answer is larger than what may be fetched.", "ask the publisher; nothing was kept";
    /// The answer broke off.
    FetchCutOff = "fetch_cut_off", "The answer ended before it was complete.", "try again; nothing was kept";
    /// Not what was asked for, or not HTTP at all.
    FetchGarbled = "fetch_garbled", "The answer is not what was asked for.", "look at the address in a browser: it may want a login, or be an error page";
    /// No commit for a branch.
    CommitUnknown = "commit_unknown", "The commit to install from could not be found out.", "try again later, or name a commit: nothing is installed from a branch that can move";
    /// Private, and there is no token.
    GatedNoToken = "gated_no_token", "The app's files are private, and no token for them was found.", "sign in with `gh auth login`, set GITHUB_TOKEN, or keep a token with `roost secrets set rapp-store/OWNER/REPOSITORY`";
    /// Private, and the token does not open it.
    GatedNoAccess = "gated_no_access", "The app's files are private, and the token did not open them.", "ask for access to the repository, or check that the file is still there";
    /// Said to be private, and everybody can read it.
    GatedOpen = "gated_open", "The files are said to be private, but everybody can read them.", "make the repository private, or publish the app as a public one";
    /// A bundle that the gate does not let in.
    BundleInvalid = "bundle_invalid", "This is not an app that can be installed.", "see `roost validate PATH` and docs/apps.md; nothing was kept";
    /// No such app is installed.
    UnknownApp = "unknown_app", "No app of this id is installed.", "see `roost apps`";
    /// The id belongs to another publisher's app.
    IdTaken = "id_taken", "Another publisher's app has this id here, and keeps it.", "`roost remove` the installed one first, if the other is meant";
    /// A file that is not the library's lies where an app's file belongs.
    FileTaken = "file_taken", "There is already a file where a file of the app belongs.", "move that file away or remove it, then install again";
    /// Nobody was there to be asked.
    ConsentNeeded = "consent_needed", "Somebody has to say yes first.", "look at it with `--dry-run`, then add `--yes`";
    /// An update wants more than its predecessor had.
    UpdateWaits = "update_waits", "An update asks for more rights and waits for a person; the version before keeps running.", "see them and say yes with `roost update --approve ID`";
    /// The new version did not work.
    UpdateFailed = "update_failed", "The new version does not answer; the version before keeps running.", "ask its publisher, or try again with `roost update ID`";
    /// There is nothing to go back to.
    NoPreviousVersion = "no_previous_version", "There is no version before to go back to.", "install one by name, as in ID@1.2.3";
    /// Somebody went back from it.
    VersionTakenBack = "version_taken_back", "The new version is the one that was taken back.", "wait for a newer one, or take it with `roost update ID --now`";
    /// Seen too recently.
    VersionTooYoung = "version_too_young", "The new version was not out long enough to be taken by itself.", "wait, or take it with `roost update ID --now`";
    /// A file of an app is not as it was installed.
    AppChanged = "app_changed", "A file of the app was changed since it was installed.", "keep your change under another name; `roost update` and `roost remove` put it into the trash";
    /// The list of installed apps cannot be used.
    LibraryUnusable = "library_unusable", "The list of installed apps cannot be read.", "restore `apps/library.json` in the home folder from a copy, or move it away and install from roost.lock";
    /// Somebody else changes the library.
    LibraryBusy = "library_busy", "Another command changes the installed apps right now.", "try again in a moment";
    /// The lock file is not one.
    LockInvalid = "lock_invalid", "This is not a lock file of installed apps.", "use the roost.lock of a home, unchanged";
    /// The folder of a store cannot be used.
    StoreUnusable = "store_unusable", "This folder is not a store that can be used.", "see the detail; `roost store init FOLDER` makes a new one";
    /// Somebody else changes the store.
    StoreBusy = "store_busy", "Another program is changing the store.", "try again in a moment; nothing was changed";
    /// A submission did not pass.
    SubmissionRefused = "submission_refused", "The store did not take the submission.", "correct what is named; docs/apps.md explains every code";
    /// The store has no place for submissions.
    NoSubmissions = "no_submissions", "This store takes no submissions over the network.", "write an issue for it with `roost publish --issue`";
    /// The token shown to a store opens nothing.
    TokenRefused = "token_refused", "The store does not take this token.", "ask its maintainer for a token; `roost store token create` makes one";
    /// A package is not signed, or not as much of it as its key demands.
    SignatureMissing = "signature_missing", "The package is not signed, or not all of it.", "get it again from its publisher; a package of your own is signed with `roost sign`";
    /// A signature does not fit the files.
    SignatureInvalid = "signature_invalid", "A signature does not fit the content of the package.", "do not use it; get it again from its publisher";
    /// Signed by somebody whom this home does not know.
    UnknownKey = "unknown_key", "Nobody whom this home trusts signed the package.", "if you know its publisher, trust their key: `roost keys publisher trust FILE`";
    /// Before or after the time of a key.
    KeyNotValid = "key_not_valid", "The key that signed the package does not count now.", "ask the publisher for a package signed with a current key";
    /// A key was taken back.
    KeyRevoked = "key_revoked", "The key that signed the package was taken back by its owner.", "do not use it; ask the publisher for one signed with another key";
    /// An app was taken back.
    AppRevoked = "app_revoked", "A store took this app back.", "do not use it; ask the store why";
    /// An older version was offered in place of the one that is installed.
    VersionNotNewer = "version_not_newer", "This version is not newer than the one that is installed.", "go back with `roost update ID --rollback`, or remove the app first if the older one is meant";
    /// A program that was taken away.
    AppQuarantined = "app_quarantined", "The app was taken back, so its program was taken away.", "remove it with `roost remove ID`; what it kept stays";
    /// `make build` did not make a program.
    BuildFailed = "build_failed", "The app's folder could not be built.", "run `make build` there and see what it says";
    /// An app that was not sideloaded.
    NotSideloaded = "not_sideloaded", "No app with this id was sideloaded.", "see `roost apps`; an installed app is removed with `roost remove ID`";
    /// A list is too old to be believed.
    TrustStale = "trust_stale", "The store's list of keys or of revoked apps is too old to be believed.", "bring it up to date with `roost keys store refresh`";
    /// A list is older than one that was seen.
    TrustRolledBack = "trust_rolled_back", "The store's list is older than one that was seen before.", "somebody may be holding back what changed; ask the store, and begin anew with `roost keys store remove` and `add` only if it says so";
    /// The clock is before what was seen.
    ClockWentBack = "clock_went_back", "The clock of this machine is behind what was seen before.", "set the clock; nothing is believed until it is right";
    /// A list of a store cannot be understood.
    TrustInvalid = "trust_invalid", "This is not a key, or not a list of keys or of revoked apps.", "check the file or the address; nothing was kept";
    /// What is trusted cannot be read from disk.
    TrustUnusable = "trust_unusable", "What this home trusts cannot be read, so nothing is trusted.", "restore the folder `keys` of the home, or remove `keys/trust.json` to trust nobody";
    /// No such key, publisher or store.
    UnknownTrust = "unknown_trust", "There is no key, publisher or store of this name.", "see `roost keys list`";
    /// A person has to say so first.
    ApprovalNeeded = "approval_needed", "A person has to say so first.", "run it yourself with `roost call`, or write it into the conversation as `/Name key=value`";
    /// A native app does not run now.
    NativeNotRunning = "native_not_running", "The native app does not run.", "see its state and its log in the folder `logs` of the home";
    /// A native app ended or hung too often.
    NativeGivenUp = "native_given_up", "The native app failed too often and is not started again.", "see its log in the folder `logs` of the home, then start it again";
    /// There is no schedule of this name.
    UnknownSchedule = "unknown_schedule", "There is no schedule of this name.", "see `roost schedules`";
    /// A schedule that would run a program.
    TaskRefused = "task_refused", "A schedule says a message to the host; it runs no program.", "give a message with `--message`; an agent with the right `subprocess` can run programs";
    /// There is no native app of this id.
    UnknownNativeApp = "unknown_native_app", "There is no native app of this id.", "see which apps run in the answer of `roost doctor`";
    /// A native app did not come to answer.
    NativeStartFailed = "native_start_failed", "The native app did not start.", "see its log in the folder `logs` of the home";
    /// A call of the contract that the app does not have.
    NativeUnanswered = "native_unanswered", "The native app does not answer this call.", "see docs/native-apps.md for what an app must answer";
    /// A setting of a native app cannot be so.
    SettingRefused = "setting_refused", "A setting of the native app cannot be set so.", "see what can be set with `roost settings ID`";
    /// An account cannot be connected so.
    OauthRefused = "oauth_refused", "The account cannot be connected so.", "begin again; an app may use only what its manifest names";
    /// A provider gave no token.
    OauthFailed = "oauth_failed", "The provider gave no token.", "try again; see what is set under `[oauth]` in roost.toml";
    /// This host is not known to the provider.
    OauthNotSetUp = "oauth_not_set_up", "This host is not known to the provider.", "write `[oauth.NAME]` with `client_id` into roost.toml of the home";
    /// A package is not one.
    PackageInvalid = "package_invalid", "The package is not one that can be used.", "see `roost validate` for what is wrong with it";
    /// No such secret.
    UnknownSecret = "unknown_secret", "There is no secret of this name.", "see `roost secrets list`";
    /// An agent was granted a secret that is not there.
    SecretMissing = "secret_missing", "A secret that the agent was granted is not there.", "set it with `roost secrets set`, or put it into `.env` in the home folder";
    /// The vault cannot be used.
    VaultUnusable = "vault_unusable", "The vault cannot be read, so no secret is given to anybody.", "restore `keys/vault.json` in the home folder, or move it aside and set the secrets again";
    /// The password opens nothing.
    WrongPassword = "wrong_password", "The password is not the right one.", "try again, or remove voice.zip and save anew";
    /// Another host did not answer as one.
    PeerFailed = "peer_failed", "The other host did not answer properly.", "check its address, and that it is running";
    /// A host call that does not exist.
    UnknownHostCall = "unknown_host_call", "The host has no such call.", "see docs/agent-protocol.md";
    /// The worker could not be started.
    StartFailed = "start_failed", "The agent's process could not be started.", "see `roost doctor`";

    /// The settings file is not valid.
    InvalidSettings = "invalid_settings", "The settings file is not valid.", "fix the line that is named in roost.toml";
    /// The home folder cannot be used.
    HomeUnusable = "home_unusable", "The home folder cannot be used.", "choose another with --home or ROOST_HOME";
    /// The database cannot be reached or written.
    StorageUnavailable = "storage_unavailable", "The database cannot be used now.", "see `roost doctor`; check ROOST_DATABASE_URL, or the file roost.db in the home folder";
    /// The disk is full.
    StorageFull = "storage_full", "There is no room left for the database.", "make room on its disk and try again; nothing was changed";
    /// What is there is not a sound database.
    StorageDamaged = "storage_damaged", "The database is damaged.", "put a copy of roost.db from before into the home folder, or move it away to begin anew";
    /// A newer program made the tables.
    StorageNewer = "storage_newer", "The database was made by a newer version of this program.", "use that version, or another home folder";
    /// Workspaces are switched off.
    WorkspacesOff = "workspaces_off", "Workspaces are switched off on this host.", "set `enabled = true` under `[workspace]` in roost.toml";
    /// No such file in a workspace, or no such version of it.
    UnknownFile = "unknown_file", "There is nothing of this name in the workspace.", "see `roost workspace ls`, and `roost workspace log PATH` for what was removed";
    /// A file is not as somebody thought who wants to change it.
    FileChanged = "file_changed", "The file was changed meanwhile.", "look at what is there now with `roost workspace log PATH` and `diff PATH`, then try again";
    /// A limit of a workspace is met.
    WorkspaceFull = "workspace_full", "This is more than the workspace may hold.", "see `roost workspace usage`; the limits stand under `[workspace]` in roost.toml";
    /// No such token.
    UnknownToken = "unknown_token", "There is no token of this name that works.", "see `roost keys token list`";
    /// No such run.
    UnknownRun = "unknown_run", "There is no such run, or it is no longer kept.", "see `roost runs list`";
    /// Somebody ended the run.
    RunCancelled = "run_cancelled", "The run was ended before it was done.", "ask again";
    /// No such request for files.
    UnknownFileRequest = "unknown_file_request", "No agent asks for files under this name.", "see GET /workspace-requests";
    /// No such page.
    UnknownPage = "unknown_page", "There is no page of this name.", "see `roost pages list`";
    /// A manifest or the files beside it are not as they must be.
    PageInvalid = "page_invalid", "The page is not as it must be.", "fix what is named; docs/pages.md says what a manifest holds";
    /// A page that is not mounted, or no longer.
    UnknownPageSession = "unknown_page_session", "This page is not mounted, or no longer.", "mount the page again";
    /// More pages than a person looks at.
    PagesLimited = "pages_limited", "Too many pages are mounted.", "unmount some of them";
    /// Nobody asked for this approval, or it was decided already.
    UnknownApproval = "unknown_approval", "Nothing waits for approval under this name.", "see `roost approvals`";
    /// The port is taken.
    PortInUse = "port_in_use", "The port is already in use.", "choose another with --port, or `--port 0` for a free one";
    /// A running host did not answer.
    HostUnreachable = "host_unreachable", "The running host did not answer.", "stop it and start it again with `roost up`";
    /// The target of a write exists.
    AlreadyExists = "already_exists", "There is already a file of that name.", "choose another name, or remove the file first";
    /// The caller is a web page that was not allowed.
    ForeignOrigin = "foreign_origin", "A web page from another origin may not use this host.", "call from a program, or from the host's own page";
    /// The caller is another user of the machine.
    ForeignAccount = "foreign_account", "The request comes from another account of this machine.", "use the account that runs the host, or let others in with `allow_other_accounts = true` in roost.toml";
    /// The request names another host.
    ForeignHost = "foreign_host", "The request's Host header does not name this machine.", "use http://127.0.0.1 or http://localhost";
    /// No such route.
    UnknownRoute = "unknown_route", "There is nothing at this address.", "see docs/http-api.md";
    /// The route exists, the method does not.
    MethodNotAllowed = "method_not_allowed", "This address does not take that method.", "see docs/http-api.md";
    /// The request body is not what the route takes.
    BadRequest = "bad_request", "The request is not what this address takes.", "see docs/http-api.md";
    /// The request body is larger than the route takes.
    BodyTooLarge = "body_too_large", "The request is larger than this address takes.", "send less; docs/http-api.md names the limits";
    /// The command line is not what the verb takes.
    WrongUse = "wrong_use", "The command was not used as it is meant.", "see the command's --help";
    /// Something the host did not expect.
    Internal = "internal", "The host met something it did not expect.", "see the host's log";
}

/// A reason together with what was seen: the one shape of every "does not work" on every surface.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The code from the closed list.
    pub reason: Reason,
    /// What was seen, in one line.
    pub message: String,
    /// The line of the source it is about.
    #[serde(default)]
    pub line: Option<u32>,
    /// The next step; the reason's own when absent.
    #[serde(default)]
    pub next: Option<String>,
}

/// Always with a next step: whoever reads it need not know the list of reasons.
impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Failure", 3 + usize::from(self.line.is_some()))?;
        fields.serialize_field("reason", &self.reason)?;
        fields.serialize_field("message", &self.message)?;
        if let Some(line) = self.line {
            fields.serialize_field("line", &line)?;
        }
        fields.serialize_field("next", self.next_step())?;
        fields.end()
    }
}

impl Failure {
    /// A failure with what was seen and the reason's own next step.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), line: None, next: None }
    }

    /// A failure that the reason's sentence already says in full.
    #[must_use]
    pub fn plain(reason: Reason) -> Self {
        Self::new(reason, reason.sentence())
    }

    /// The same failure, about one line of the source.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// The same failure with a better next step than the reason's own.
    #[must_use]
    pub fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn next_step(&self) -> &str {
        self.next.as_deref().unwrap_or_else(|| self.reason.next())
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn every_reason_has_its_own_code_a_sentence_and_a_next_step() {
        let mut codes = std::collections::HashSet::new();
        for reason in Reason::ALL {
            assert!(codes.insert(reason.code()), "{} stands twice", reason.code());
            assert!(reason.sentence().ends_with('.'), "{} has no sentence", reason.code());
            assert!(!reason.next().is_empty(), "{} has no next step", reason.code());
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.code());
        }
    }
}
