//! Agents nobody asks for, in the length and manner of a real registry: domains the requests are not about, and verbs
//! that everyone uses.

use roost_chat::ToolDefinition;
use serde_json::{Value, json};

/// Name, what it is about, what its parts are called.
const DOMAINS: [(&str, &str, &str); 50] = [
    ("Apiary", "bee colonies", "hive"),
    ("Vineyard", "grape parcels and fermentation batches", "barrel"),
    ("Museum", "collection objects and loans to other institutions", "exhibit"),
    ("Brewery", "mash schedules and fermentation tanks", "batch"),
    ("Choir", "rehearsals and sheet music of a choir", "voice part"),
    ("Archive", "historical records and their condition", "record group"),
    ("Glacier", "ice core measurements", "core"),
    ("Quarry", "blasting plans and rock samples", "bench"),
    ("Theater", "props, costumes and stage cues", "production"),
    ("Lighthouse", "aids to navigation and their inspection", "beacon"),
    ("Elevator", "lifts and escalators under contract", "cabin"),
    ("Dental", "dental laboratory orders", "crown"),
    ("Optician", "lens prescriptions and frames", "frame"),
    ("Funeral", "ceremonies and burial plots", "ceremony"),
    ("Zoo", "enclosures and feeding rounds", "enclosure"),
    ("Aquarium", "tank chemistry and filtration", "tank"),
    ("Railcar", "wagons and bogie overhauls", "wagon"),
    ("Harbor", "berths, pilots and tug assignments", "berth"),
    ("Drone", "flight plans of survey drones", "drone"),
    ("Wind", "turbines and blade inspections", "turbine"),
    ("Pipeline", "pigging runs and corrosion readings", "segment"),
    ("Refinery", "crude blends and distillation cuts", "unit"),
    ("Foundry", "moulds and casting defects", "mould"),
    ("Textile", "looms and dye lots", "dye lot"),
    ("Bakery", "dough batches and proofing times", "dough"),
    ("Fishery", "catch quotas and vessel logs", "vessel"),
    ("Forestry", "timber stands and felling permits", "stand"),
    ("Irrigation", "pumps and canal gates", "pump"),
    ("Seismic", "geophone arrays and shot lines", "array"),
    ("Telescope", "observation time and instrument setups", "instrument"),
    ("Particle", "detector calibration runs", "detector"),
    ("Genome", "sequencing runs and sample plates", "plate"),
    ("Clinicaltrial", "study arms and adverse events", "arm"),
    ("Bloodbank", "donor units and cross-matching", "donor unit"),
    ("Ambulance", "crews and vehicle readiness", "crew"),
    ("Firestation", "apparatus checks and hydrant maps", "hydrant"),
    ("Parking", "garages and permit holders", "garage"),
    ("Streetlight", "luminaires and outage reports", "luminaire"),
    ("Waste", "bin routes and landfill cells", "route"),
    ("Stadium", "gates, turnstiles and crowd flow", "gate"),
    ("Festival", "stages and artist riders", "stage"),
    ("Radio", "broadcast rundowns and jingles", "rundown"),
    ("Newsroom", "story assignments and embargoes", "assignment"),
    ("Printing", "press sheets and plate setups", "press"),
    ("Gallery", "artworks, provenance and consignments", "artwork"),
    ("Auction", "lots and bidder registrations", "lot"),
    ("Notary", "deeds and certified copies", "deed"),
    ("Parliament", "motions and committee sessions", "motion"),
    ("Election", "polling stations and ballot counts", "polling station"),
    ("Census", "enumeration areas and questionnaires", "area"),
];

/// Ending of the name, what is said, what the operations are.
const PURPOSES: [(&str, &str, &[&str]); 5] = [
    (
        "Planner",
        "Plans upcoming work for {about} and resolves conflicts between resources. Produces a schedule that can be exported and shared with the team, and keeps earlier versions for comparison.",
        &["plan", "compare", "export"],
    ),
    (
        "Registry",
        "Maintains the master data of {about}. Supports creating, updating and retiring entries with a complete history of who changed what and when.",
        &["create", "update", "retire", "history"],
    ),
    (
        "Inspector",
        "Checks {about} against configurable rules and reports findings by severity. Each finding contains evidence, a recommendation and the responsible person.",
        &["check", "report", "acknowledge"],
    ),
    (
        "Analyst",
        "Analyzes performance indicators of {about} over time, explains deviations from the target and creates an executive summary with recommendations.",
        &["analyze", "trend", "summary"],
    ),
    (
        "Copilot",
        "Conversational assistant for teams responsible for {about}. Answers questions from the documentation, drafts notifications and prepares hand-over notes for the next shift.",
        &["ask", "draft", "handover"],
    ),
];

/// The first so many of the fillers, always the same.
pub(crate) fn agents(count: usize) -> Vec<ToolDefinition> {
    let all = PURPOSES.iter().flat_map(|purpose| DOMAINS.iter().map(move |domain| agent(domain, purpose)));
    all.take(count).collect()
}

fn agent(domain: &(&str, &str, &str), purpose: &(&str, &str, &[&str])) -> ToolDefinition {
    let ((name, about, part), (ending, says, operations)) = (domain, purpose);
    ToolDefinition {
        name: format!("{name}{ending}"),
        description: says.replace("{about}", about),
        parameters: parameters(part, operations),
    }
}

fn parameters(part: &str, operations: &[&str]) -> Value {
    let id = format!("{}_id", part.replace(' ', "_"));
    json!({
        "type": "object",
        "properties": {
            "operation": {"type": "string", "enum": operations, "description": "The operation to perform."},
            id: {"type": "string", "description": format!("Identifier of the {part} that the operation applies to; all when omitted.")},
            "period": {"type": "string", "description": "Period to consider, such as 2026-Q1 or last month."},
            "format": {"type": "string", "enum": ["markdown", "json", "csv"], "description": "Output format of the result."},
            "include_details": {"type": "boolean", "description": "Whether to include every entry or only totals."},
            "notify": {"type": "array", "items": {"type": "string"}, "description": "People who receive a copy of the result."}
        },
        "required": ["operation"]
    })
}
