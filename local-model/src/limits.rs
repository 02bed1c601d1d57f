//! Every limit of the program, each with the reason for its size.
//!
//! A limit is here even where only one file uses it: what can be asked of this process is read in one place.

/// Body of one request. Long conversations with tool lists stay far below; it is what one request can make us hold.
pub(crate) const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Messages of one conversation. More cannot fit the context of the models that this program is for.
pub(crate) const MESSAGES_MAX: usize = 1_024;

/// Tools of one request, as with the services whose interface this is.
pub(crate) const TOOLS_MAX: usize = 128;

/// Length of a tool's name, as with the services whose interface this is.
pub(crate) const TOOL_NAME_BYTES_MAX: usize = 64;

/// Calls in one answer. A small model that repeats itself stops here and not at the end of the context.
pub(crate) const CALLS_MAX: usize = 8;

/// Requests that wait while one is answered. At seconds per answer, one behind sixteen others has no user any more.
pub(crate) const QUEUE_MAX: usize = 16;

/// Tokens of one answer where the request names no limit.
pub(crate) const ANSWER_TOKENS_DEFAULT: usize = 1_024;

/// Tokens that are decoded at once. Smaller means that a client who left is noticed sooner: 128 tokens are two
/// seconds of a 1.5B model on two slow cores, and larger batches were not measurably faster per token.
pub(crate) const BATCH_TOKENS: usize = 128;

/// Bytes of prompt per token of context, beyond which the prompt is refused unread. Text is near four; the bound
/// keeps megabytes away from the tokenizer, whose time for odd input is not ours to promise.
pub(crate) const PROMPT_BYTES_PER_TOKEN_MAX: usize = 32;

/// Smallest and largest context that can be asked for.
pub(crate) const CONTEXT_TOKENS_MIN: u32 = 256;
/// Beyond this the memory of the context is larger than the models that this program is for.
pub(crate) const CONTEXT_TOKENS_MAX: u32 = 131_072;

/// Threads that can be asked for. llama.cpp takes no more.
pub(crate) const THREADS_MAX: u32 = 512;

/// Steps that a model's chat template may take, so that a template from a file cannot loop for ever.
pub(crate) const TEMPLATE_FUEL: u64 = 20_000_000;

/// Depth to which a schema is followed. Below it any JSON is allowed, since nobody fills in deeper forms.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 16;

/// Rules of one grammar. llama.cpp's time per token grows with them.
pub(crate) const GRAMMAR_RULES_MAX: usize = 8_192;

/// Repetitions that are counted in a grammar. llama.cpp unrolls each one, so that larger bounds are left out.
pub(crate) const GRAMMAR_REPETITIONS_MAX: u64 = 64;

/// Integers between two bounds that are spelled out one by one.
pub(crate) const INTEGER_ALTERNATIVES_MAX: i64 = 64;

/// Events that one generated token can cause: text before a call, its start, its arguments, its end, and the last word.
pub(crate) const EVENTS_PER_TOKEN_MAX: usize = 6;

/// How long the end of the parent waits for a generation to notice, before the process ends regardless.
pub(crate) const FAREWELL: std::time::Duration = std::time::Duration::from_secs(3);

/// Tokens among which one is drawn. Beyond forty, small models mostly draw mistakes.
pub(crate) const TOP_K: i32 = 40;

/// Temperature where the request names none. Lower than usual: small models lose the thread at one.
pub(crate) const TEMPERATURE_DEFAULT: f32 = 0.7;
