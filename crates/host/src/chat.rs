//! Turns and models, for those who serve them: the shapes of the layer below.

pub use roost_chat::{
    AnthropicSettings, AzureCredential, AzureSettings, CredentialSource, DeviceCode, GitHubSettings,
    HistoryRule, ListedModel, LoginProgress, ManagedIdentity, ModelFailure, ModelProblem, ModelSettings,
    OpenAiSettings, ProviderName, ProxySettings, RetryOutcome, Secret, Slots, Standing as ModelStanding,
    StandingState, TurnEvent, TurnLog, UnknownLine, history, log_lines, split_slots,
};
