//! All routes of the host. Each is described where it is written, so that no route is missing in `/openapi.json`.

use crate::{
    app_origin::{AppOrigin, serve_pages},
    coded::as_coded,
    guard::{Access, Neighbours, guard},
    openapi,
    openwop::failure_at,
    record::record,
    routes::{self, chat::Profile},
};
use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    http::{Method, StatusCode, Uri},
    middleware,
    response::{IntoResponse as _, Response},
};
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

/// Largest request body: arguments of one call.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Largest form: one agent file with room for its wrapping, or one `voice.zip`.
const FORM_BYTES_MAX: usize = 2 << 20;

/// Largest message of a mounted page: a mebibyte, and what its text may grow by as JSON.
const PAGE_MESSAGE_BYTES_MAX: usize = 2 << 20;

/// Largest page that arrives as a zip; the reader of archives has its own, lower limit.
const PAGE_BYTES_MAX: usize = 16 << 20;

/// Largest run that is taken over, with its files in base64.
const RUN_BYTES_MAX: usize = 512 << 20;

/// One way in: where it is, who may come in, and how chats are answered there.
#[derive(Debug, Clone, Default)]
pub struct Door {
    /// The port it listens on; 0 for none.
    pub port: u16,
    /// Who else may speak to the host.
    pub neighbours: Neighbours,
    /// How `/chat` answers unless a request says otherwise.
    pub profile: Profile,
}

/// The whole HTTP surface of a host behind one door.
pub fn router(host: Host, door: Door) -> Router {
    let (described, _) = described_routes().split_for_parts();
    let Door { port, neighbours, profile } = door;
    let access = Arc::new(Access { port, neighbours });
    let pages = AppOrigin { host: host.clone(), access: Arc::clone(&access) };
    described
        .fallback(unknown_route)
        .method_not_allowed_fallback(other_method)
        .layer(Extension(profile))
        .layer(Extension(Arc::clone(&access)))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(access, guard))
        .layer(middleware::from_fn_with_state(pages, serve_pages))
        .layer(middleware::from_fn_with_state(host.clone(), record))
        .with_state(host)
}

/// Every route with its description.
pub(crate) fn described_routes() -> OpenApiRouter<Host> {
    let forms = OpenApiRouter::new()
        .routes(routes!(routes::agent_files::import))
        .routes(routes!(routes::voice::import))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX));
    let run_imports = OpenApiRouter::new()
        .routes(routes!(routes::runs::import))
        .layer(DefaultBodyLimit::max(RUN_BYTES_MAX));
    let page_imports = OpenApiRouter::new()
        .routes(routes!(routes::pages::import))
        .layer(DefaultBodyLimit::max(PAGE_BYTES_MAX));
    OpenApiRouter::with_openapi(openapi::opening())
        .routes(routes!(routes::health::health))
        .routes(routes!(routes::liveness::public))
        .routes(routes!(routes::liveness::checks))
        .routes(routes!(routes::liveness::version))
        .routes(routes!(routes::chat::chat))
        .routes(routes!(routes::chat::stream::stream))
        .routes(routes!(routes::chat::tier_two::insight))
        .routes(routes!(routes::chat::tier_two::copilot_studio))
        .routes(routes!(routes::models::list))
        .routes(routes!(routes::models::set))
        .routes(routes!(routes::login::begin))
        .routes(routes!(routes::login::poll))
        .routes(routes!(routes::login::status))
        .routes(routes!(routes::login::switch))
        .routes(routes!(routes::login::retry))
        .routes(routes!(routes::login::report))
        .routes(routes!(routes::agents::list))
        .routes(routes!(routes::agents::call))
        .routes(routes!(routes::agent_files::files))
        .routes(routes!(routes::agent_files::full))
        .routes(routes!(routes::agent_files::export))
        .routes(routes!(routes::agent_files::remove))
        .routes(routes!(routes::agent_files::invoke))
        .routes(routes!(routes::sources::list, routes::sources::add))
        .routes(routes!(routes::sources::remove))
        .routes(routes!(routes::sources::sync))
        .merge(apps())
        .merge(native_pages())
        .merge(native_apps())
        .routes(routes!(routes::services::list))
        .routes(routes!(routes::services::serve))
        .routes(routes!(routes::services::serve_root))
        .routes(routes!(routes::services::serve_below))
        .routes(routes!(routes::voice::mode))
        .routes(routes!(routes::voice::toggle))
        .routes(routes!(routes::voice::config, routes::voice::save))
        .routes(routes!(routes::voice::export))
        .routes(routes!(routes::twin::mode))
        .routes(routes!(routes::twin::toggle))
        .routes(routes!(routes::diagnostics::tail))
        .routes(routes!(routes::diagnostics::book))
        .routes(routes!(routes::diagnostics::clear))
        .routes(routes!(routes::diagnostics::report))
        .routes(routes!(openapi::show))
        .routes(routes!(openapi::show_v1))
        .routes(routes!(routes::discovery::show))
        .merge(binder())
        .merge(page())
        .merge(contract())
        .merge(of_the_owner())
        .merge(workspace_extras())
        .merge(forms)
        .merge(runs())
        .merge(schedules())
        .merge(run_imports)
        .merge(pages())
        .merge(page_imports)
}

/// Page apps and their sessions.
fn pages() -> OpenApiRouter<Host> {
    use routes::page_sessions as sessions;
    let calls = OpenApiRouter::new()
        .routes(routes!(sessions::call))
        .layer(DefaultBodyLimit::max(PAGE_MESSAGE_BYTES_MAX));
    OpenApiRouter::new()
        .merge(calls)
        .routes(routes!(sessions::mount))
        .routes(routes!(sessions::mount_app))
        .routes(routes!(sessions::revoke))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::show, sessions::unmount))
        .routes(routes!(sessions::follow))
        .routes(routes!(routes::pages::list, routes::pages::create))
        .routes(routes!(routes::pages::show, routes::pages::update, routes::pages::remove))
        .routes(routes!(routes::pages::export))
        .routes(routes!(routes::approvals::list))
        .routes(routes!(routes::approvals::approve))
        .routes(routes!(routes::approvals::deny))
        .routes(routes!(routes::pages::file))
}

/// What happened, and going through it again.
fn runs() -> OpenApiRouter<Host> {
    OpenApiRouter::new()
        .routes(routes!(routes::runs::workflow))
        .routes(routes!(routes::runs::start, routes::runs::list))
        .routes(routes!(routes::runs::show, routes::runs::act, routes::runs::remove))
        .routes(routes!(routes::runs::follow))
        .routes(routes!(routes::runs::poll))
        .routes(routes!(routes::runs::cancel))
        .routes(routes!(routes::runs::export))
}

/// Things that are done at set times.
fn schedules() -> OpenApiRouter<Host> {
    use routes::schedules;
    OpenApiRouter::new()
        .routes(routes!(schedules::list, schedules::add))
        .routes(routes!(schedules::show, schedules::change, schedules::remove))
        .routes(routes!(schedules::enable))
        .routes(routes!(schedules::disable))
        .routes(routes!(schedules::run))
        .routes(routes!(schedules::history))
        .routes(routes!(schedules::schedulers, schedules::choose))
}

/// Installed apps.
fn apps() -> OpenApiRouter<Host> {
    use routes::{apps, lines};
    OpenApiRouter::new()
        .routes(routes!(apps::list, apps::install))
        .routes(routes!(routes::installs::install))
        .routes(routes!(apps::plan))
        .routes(routes!(apps::plan_files))
        .routes(routes!(apps::install_locked))
        .routes(routes!(apps::update, routes::native_apps::waiting))
        .routes(routes!(apps::show, apps::remove))
        .routes(routes!(apps::waiting, apps::reject))
        .routes(routes!(apps::sweep))
        .routes(routes!(apps::sideload))
        .routes(routes!(apps::unsideload))
        .routes(routes!(apps::approve))
        .routes(routes!(apps::roll_back))
        .routes(routes!(lines::say))
        .routes(routes!(lines::carry))
        .routes(routes!(routes::inspections::list))
        .routes(routes!(routes::native_logs::tail))
}

/// Native apps, their settings and accounts.
fn native_apps() -> OpenApiRouter<Host> {
    use routes::{
        native_accounts as accounts, native_apps as apps, native_dev as dev, native_plugins as plugins,
        native_store as store,
    };
    let published = OpenApiRouter::new()
        .routes(routes!(store::list))
        .routes(routes!(store::show))
        .routes(routes!(store::reviews))
        .routes(routes!(store::install, store::uninstall))
        .routes(routes!(store::events))
        .routes(routes!(plugins::list))
        .routes(routes!(plugins::show))
        .routes(routes!(plugins::set))
        .routes(routes!(plugins::toggle))
        .routes(routes!(dev::sideload))
        .routes(routes!(dev::unsideload))
        .routes(routes!(dev::apps))
        .routes(routes!(dev::relaunch))
        .routes(routes!(routes::native_logs::follow))
        .routes(routes!(routes::inspections::follow))
        .routes(routes!(dev::context))
        .routes(routes!(dev::tools))
        .routes(routes!(dev::execute))
        .routes(routes!(accounts::connect))
        .routes(routes!(accounts::callback))
        .routes(routes!(accounts::grants))
        .routes(routes!(accounts::disconnect))
        .layer(middleware::from_fn(as_coded));
    OpenApiRouter::new()
        .routes(routes!(apps::list))
        .routes(routes!(apps::show))
        .routes(routes!(apps::start))
        .routes(routes!(apps::stop))
        .routes(routes!(apps::restart))
        .routes(routes!(apps::settings, apps::set))
        .routes(routes!(apps::accounts))
        .routes(routes!(apps::connect))
        .merge(published)
}

/// Pages of native apps.
fn native_pages() -> OpenApiRouter<Host> {
    use routes::native_pages as pages;
    let described = OpenApiRouter::new()
        .routes(routes!(pages::list))
        .routes(routes!(pages::open, pages::named_open))
        .routes(routes!(pages::entry))
        .routes(routes!(pages::below))
        .layer(middleware::from_fn(as_coded));
    described.routes(routes!(pages::ask)).routes(routes!(pages::ask_root))
}

/// Installed apps, as RAPP clients ask for them.
fn binder() -> OpenApiRouter<Host> {
    use routes::binder::{self, files};
    OpenApiRouter::new()
        .routes(routes!(binder::installed))
        .routes(routes!(binder::installed_at_root))
        .routes(routes!(binder::installed_by_name))
        .routes(routes!(binder::rapplications))
        .routes(routes!(binder::catalog))
        .routes(routes!(binder::catalog_part))
        .routes(routes!(binder::install))
        .routes(routes!(binder::install_file))
        .routes(routes!(binder::uninstall))
        .routes(routes!(binder::export))
        .routes(routes!(binder::import))
        .routes(routes!(binder::invoke))
        .routes(routes!(files::page_root))
        .routes(routes!(files::page_file))
        .routes(routes!(files::page_root_by_old_name))
        .routes(routes!(files::page_file_by_old_name))
        .nest("/api/binder/workspace", shared_files())
        // Where later RAPP hosts have them.
        .nest("/api/workspace", shared_files())
}

/// What an app shares with people.
fn shared_files() -> OpenApiRouter<Host> {
    use routes::binder::files;
    OpenApiRouter::new()
        .routes(routes!(files::info))
        .routes(routes!(files::list))
        .routes(routes!(files::read, files::write, files::remove))
        .routes(routes!(files::reveal))
}

/// The web UI.
fn page() -> OpenApiRouter<Host> {
    OpenApiRouter::new()
        .routes(routes!(routes::ui::page))
        .routes(routes!(routes::ui::asset))
        .routes(routes!(routes::plain_page::show))
}

/// What only the owner may use, besides files and runs.
fn of_the_owner() -> OpenApiRouter<Host> {
    use routes::{
        catalogs, conversations, insight, owner_pages, rights, secrets, tokens, workspace_folders,
        workspace_requests,
    };
    OpenApiRouter::new()
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::set, secrets::remove))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(workspace_folders::list))
        .routes(routes!(workspace_folders::open))
        .routes(routes!(workspace_requests::list))
        .routes(routes!(workspace_requests::dismiss))
        .routes(routes!(owner_pages::show))
        .routes(routes!(owner_pages::invite))
        .routes(routes!(owner_pages::admit, owner_pages::leave))
        .routes(routes!(rights::show))
        .routes(routes!(rights::waiting))
        .routes(routes!(rights::grant))
        .routes(routes!(rights::revoke))
        .routes(routes!(rights::refuse))
        .routes(routes!(rights::unused))
        .routes(routes!(insight::audit))
        .routes(routes!(insight::verify))
        .routes(routes!(insight::why))
        .routes(routes!(insight::doctor))
        .routes(routes!(catalogs::list, catalogs::add))
        .routes(routes!(catalogs::remove))
        .routes(routes!(catalogs::refresh))
        .routes(routes!(catalogs::search))
        .routes(routes!(catalogs::show))
        .routes(routes!(conversations::list))
        .routes(routes!(conversations::show, conversations::keep, conversations::remove))
}

/// The routes of the workspace.
fn contract() -> OpenApiRouter<Host> {
    use routes::workspace::{events, files, seam, version_two};
    OpenApiRouter::new()
        .routes(routes!(files::list))
        .routes(routes!(files::nameless))
        .routes(routes!(files::get, files::put, files::delete))
        .routes(routes!(version_two::list))
        .routes(routes!(version_two::get, version_two::put, version_two::delete))
        .routes(routes!(events::follow))
        .routes(routes!(events::poll))
        .routes(routes!(seam::operate))
}

/// Siblings of the contract's files. Each reads its body by itself, within its own limit.
fn workspace_extras() -> OpenApiRouter<Host> {
    use routes::workspace_extras::{changes, history, lookup, proposals, rules, transfer};
    OpenApiRouter::new()
        .routes(routes!(history::history))
        .routes(routes!(history::diff))
        .routes(routes!(history::restore))
        .routes(routes!(history::undelete))
        .routes(routes!(history::purge))
        .routes(routes!(lookup::search))
        .routes(routes!(lookup::usage))
        .routes(routes!(changes::batch))
        .routes(routes!(changes::rename))
        .routes(routes!(changes::edit))
        .routes(routes!(transfer::export))
        .routes(routes!(transfer::import))
        .routes(routes!(rules::list, rules::set, rules::unset))
        .routes(routes!(proposals::list))
        .routes(routes!(proposals::show))
        .routes(routes!(proposals::approve))
        .routes(routes!(proposals::reject))
}

async fn unknown_route(uri: Uri) -> Response {
    let path = uri.path();
    failure_at(path, Failure::new(Reason::UnknownRoute, format!("there is nothing at {path}")))
}

/// The framework adds the `Allow` header to both answers.
async fn other_method(method: Method, uri: Uri) -> Response {
    match method {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => failure_at(uri.path(), Failure::plain(Reason::MethodNotAllowed)),
    }
}
