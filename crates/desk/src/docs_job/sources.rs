//! Code sources in a round: fetched when it begins, and read at the commits that it has recorded, by whoever works on it.

use copydesk_agent::{AskedRange, CodeSources, History, RangeQuestion, SourceCommit, SourceFiles};
use copydesk_boxed::boxed;
use copydesk_domain::{ChangeRange, CodeSource, Project, Repository};
use copydesk_forge::{CommitId, Connection, ForgeError, ForgeErrorKind, Mirror, PastQuestion, Range, Remote, Renames};
use copydesk_store::{NamedCommit, RangeAt, Round, RoundSources, SourceAt, SourceState};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};

use super::failure::{aside, commit_id};
use super::{Bench, Workshop};
use crate::runner::Failure;

/// How many sources of a job are fetched at a time.
const FETCHES: usize = 4;
const REMOVED: &str = "it was removed from the project";

#[boxed]
impl Workshop {
    /// The way to the host of a code source.
    pub async fn connect_source(&self, project: &Project, source: &CodeSource) -> Result<Connection, ForgeError> {
        self.check_awake().await?;
        let secret = self.credentials.of_source(project, source).await?;
        self.hosts.connect(&source.repository, source.host_in(project), secret)
    }

    /// Fetches a branch of a code source, or its main branch, with all tags.
    pub async fn fetch_source(
        &self,
        connection: &Connection,
        branch: Option<&str>,
    ) -> Result<(Mirror, CommitId), ForgeError> {
        let mirror = self.forge.mirror(&connection.remote().await?).await?;
        let commit = mirror.fetch_with_tags(branch).await?;
        Ok((mirror, commit))
    }
}

/// A code source that was fetched, or why it was not.
type Fetched = Result<(Mirror, CommitId), ForgeError>;

impl Bench<'_> {
    /// Where the code sources are now, and the range of commits that the job is about. A source that cannot be fetched is
    /// recorded as such; only one that the job is about ends it.
    pub(super) async fn prepare_sources(&self, before: &[Round]) -> Result<RoundSources, Failure> {
        let sources = self.task.store().sources(&self.project.id).await?;
        let fetches = stream::iter(sources).map(|source| async {
            let fetched = self.fetch_source(&source).await;
            (source, fetched)
        });
        let fetched: Vec<(CodeSource, Fetched)> = fetches.buffered(FETCHES).collect().await;
        let known = before.iter().find_map(|round| round.sources.range.clone());
        let mut gone: Option<SourceAt> = None;
        let range = match (&self.task.job.changes, known) {
            (None, _) => None,
            (Some(asked), None) => Some(find_range(asked, &fetched).await?),
            // A follow-up is about the same commits, wherever the source is by then; of one that was removed it has no more
            // than what was written because of it.
            (Some(_), Some(known)) => match tip_of(&known.source, &fetched) {
                Some(fetched) => fetched.map(|_| Some(known))?,
                None => {
                    gone =
                        before.iter().flat_map(|round| &round.sources.all).find(|at| at.name == known.source).cloned();
                    None
                }
            },
        };
        // What the job is about is read as it is at the end of the range: what came later would contradict it.
        let end = |name: &str| range.as_ref().filter(|range| range.source == name).map(|range| range.to.commit.clone());
        let at = |(source, fetched): (CodeSource, Fetched)| SourceAt {
            state: match fetched {
                Ok((_, commit)) => SourceState::At(end(&source.name).unwrap_or_else(|| commit.to_string())),
                Err(error) => SourceState::Unread(error.message.replace('\0', "\u{fffd}")),
            },
            name: source.name,
            address: source.repository.clone_address().to_owned(),
            branch: source.branch,
        };
        let gone = gone.map(|at| SourceAt { state: SourceState::Unread(REMOVED.to_owned()), ..at });
        Ok(RoundSources { all: fetched.into_iter().map(at).chain(gone).collect(), range })
    }

    async fn fetch_source(&self, source: &CodeSource) -> Fetched {
        let connection = self.workshop.connect_source(self.project, source).await?;
        self.workshop.fetch_source(&connection, source.branch.as_deref()).await
    }

    /// The code sources at the commits that a round has recorded. What this machine does not have is fetched.
    pub(super) async fn open_sources(&self, round: &Round) -> Result<OpenSources, Failure> {
        let mut open = OpenSources { all: Vec::new(), range: round.sources.range.clone() };
        for at in &round.sources.all {
            let range = open.range.as_ref().filter(|range| range.source == at.name);
            let state = match &at.state {
                SourceState::At(commit) => self.open_source(at, &commit_id(commit)?, range).await,
                SourceState::Unread(why) => Err(ForgeError::lasting(why.clone())),
            };
            let state = match (state, range) {
                (Ok(open), _) => Ok(open),
                (Err(error), Some(_)) => return Err(about(&at.name, error)),
                (Err(error), None) => Err(error.message),
            };
            open.all.push(OpenSource { at: at.clone(), state });
        }
        Ok(open)
    }

    /// One of them, with the commits that the job is about if those are its.
    async fn open_source(&self, at: &SourceAt, commit: &CommitId, range: Option<&RangeAt>) -> Fetched {
        let mut wanted = vec![*commit];
        for end in range.iter().flat_map(|range| [&range.from, &range.to]) {
            wanted.extend(end.commit.parse::<CommitId>());
        }
        let here = self.workshop.forge.mirror(&Remote::at(at.address.as_str())).await?;
        if wanted.iter().all(|commit| here.has_commit(commit)) {
            return Ok((here, *commit));
        }
        let source = self.task.store().source(&self.project.id, &at.name).await;
        let source = source.map_err(|error| ForgeError::passing(format!("the database failed: {error}")))?;
        let Some(source) = source.filter(|source| source.repository.clone_address() == at.address) else {
            return Err(ForgeError::lasting("it was removed or changed while the job ran"));
        };
        let (mirror, _) = self.fetch_source(&source).await?;
        for commit in &wanted {
            if !mirror.fetch_commit(commit).await? {
                return Err(ForgeError::lasting(format!("its commit {commit} is gone")));
            }
        }
        Ok((mirror, *commit))
    }
}

/// The mirror of a code source and where that is, if the project has it; or what keeps the job from it.
fn tip_of<'a>(name: &str, fetched: &'a [(CodeSource, Fetched)]) -> Option<Result<(&'a Mirror, &'a CommitId), Failure>> {
    let (_, fetched) = fetched.iter().find(|(source, _)| source.name == *name)?;
    Some(match fetched {
        Ok((mirror, tip)) => Ok((mirror, tip)),
        Err(error) => Err(about(name, error.clone())),
    })
}

/// Looks up both ends of a range. What cannot be found ends the job: a model would only guess.
async fn find_range(asked: &ChangeRange, fetched: &[(CodeSource, Fetched)]) -> Result<RangeAt, Failure> {
    let name = &asked.source;
    let gone = || Failure::Fatal(format!("The project has no code source {name} any more."));
    let (mirror, tip) = tip_of(name, fetched).ok_or_else(gone)??;
    let find = async |wanted: &str| match mirror.find_commit(wanted, tip).await {
        Ok(Some(commit)) => Ok(NamedCommit { name: wanted.to_owned(), commit: commit.to_string() }),
        Ok(None) => Err(Failure::Fatal(format!("The code source {name} has no tag, commit or branch `{wanted}`."))),
        Err(error) => Err(about(name, error)),
    };
    let from = find(&asked.from).await?;
    let to = match &asked.to {
        Some(to) => find(to).await?,
        None => NamedCommit { name: "the newest commit".to_owned(), commit: tip.to_string() },
    };
    let (first, last) = (&from.name, &to.name);
    if from.commit == to.commit {
        return Err(Failure::Fatal(format!(
            "Nothing changed in the code source {name} from `{first}` to `{last}`: they are the same commit."
        )));
    }
    let range = mirror.range_commits(&commit_id(&from.commit)?, &commit_id(&to.commit)?, None).await;
    if range.map_err(|error| about(name, error))?.commits == 0 {
        return Err(Failure::Fatal(format!(
            "In the code source {name} `{last}` comes before `{first}`: turn the range round."
        )));
    }
    Ok(RangeAt { source: name.clone(), from, to })
}

/// A failure of git that says which source it is about.
fn about(name: &str, error: ForgeError) -> Failure {
    let start = if error.kind == ForgeErrorKind::Lasting { "The" } else { "the" };
    let message = format!("{start} code source {name} could not be read: {}", error.message);
    ForgeError { message, ..error }.into()
}

/// The code sources of a round.
pub(super) struct OpenSources {
    all: Vec<OpenSource>,
    range: Option<RangeAt>,
}

struct OpenSource {
    at: SourceAt,
    /// Why it cannot be read, as one sentence, if it cannot.
    state: Result<(Mirror, CommitId), String>,
}

impl OpenSources {
    /// As an editor is given them.
    pub(super) fn files(&self) -> Result<CodeSources, Failure> {
        let mut all = Vec::with_capacity(self.all.len());
        for source in &self.all {
            let repository = Repository::from_stored(source.at.address.clone()).public_address().to_owned();
            let commit = match &source.state {
                Ok((mirror, commit)) => Ok(SourceCommit {
                    id: commit.to_string(),
                    made_at: mirror.commit_info(commit)?.author_time,
                    tree: mirror.tree(commit)?,
                }),
                Err(why) => Err(why.clone()),
            };
            let name = source.at.name.clone();
            let asked = self.range.as_ref().filter(|range| range.source == name);
            let revision = match (asked, &source.at.branch) {
                (Some(range), _) => format!("{}, where the range ends", range.to.name),
                (None, Some(branch)) => format!("branch {branch}"),
                (None, None) => "the main branch".to_owned(),
            };
            all.push(SourceFiles { name, repository, revision, commit });
        }
        Ok(CodeSources::new(all))
    }

    /// The range that the job is about, with all that there is to say of it.
    pub(super) async fn asked_range(&self) -> Result<Option<AskedRange>, Failure> {
        let Some(at) = &self.range else { return Ok(None) };
        let (mirror, _) = self.find(&at.source).map_err(Failure::Fatal)?;
        let (from, to) = (commit_id(&at.from.commit)?, commit_id(&at.to.commit)?);
        let range = read_range(mirror, &from, &to, None).await?;
        let end = |it: &NamedCommit| (it.name.clone(), it.commit.clone());
        Ok(Some(AskedRange { source: at.source.clone(), from: end(&at.from), to: end(&at.to), range }))
    }

    fn find(&self, name: &str) -> Result<&(Mirror, CommitId), String> {
        let found = self.all.iter().find(|source| source.at.name == name);
        let source = found.ok_or_else(|| format!("The project has no code source {name}."))?;
        source.state.as_ref().map_err(|why| format!("The code source {name} cannot be read: {why}."))
    }

    /// The commit of that name: one that the job is about, a tag, or an id.
    async fn commit(&self, source: &str, name: &str) -> Result<CommitId, String> {
        let asked = self.range.iter().filter(|range| range.source == source);
        let known = asked.flat_map(|range| [&range.from, &range.to]).find(|end| end.name == name || end.commit == name);
        if let Some(known) = known {
            return known.commit.parse().map_err(|_| format!("{:?} is not the id of a commit", known.commit));
        }
        let (mirror, tip) = self.find(source)?;
        let found = mirror.known_commit(name, tip).await.map_err(|error| error.message)?;
        found.ok_or_else(|| {
            format!("the code source {source} has no tag or commit {name:?}; branches are not looked at")
        })
    }

    async fn answer(&self, asked: &RangeQuestion) -> Result<Range, String> {
        let (mirror, tip) = self.find(&asked.source)?;
        let own = self.range.as_ref().filter(|range| range.source == asked.source);
        let from = match (&asked.from, own) {
            (Some(name), _) => self.commit(&asked.source, name).await?,
            (None, Some(own)) => self.commit(&asked.source, &own.from.commit).await?,
            (None, None) => return Err("`from` is missing: name a tag, or the id of a commit".to_owned()),
        };
        let to = match (&asked.to, own) {
            (Some(name), _) => self.commit(&asked.source, name).await?,
            (None, Some(own)) => self.commit(&asked.source, &own.to.commit).await?,
            (None, None) => *tip,
        };
        let range = read_range(mirror, &from, &to, asked.path.clone()).await;
        let range = range.map_err(|_| "the two commits could not be compared".to_owned())?;
        if let Some(path) = asked.path.as_deref().filter(|_| range.files.is_empty() && !range.truncated)
            && ![from, to].iter().any(|commit| is_in(mirror, commit, path))
        {
            return Err(format!("there is no file or folder {path:?} at either commit"));
        }
        Ok(range)
    }
}

fn is_in(mirror: &Mirror, commit: &CommitId, path: &str) -> bool {
    mirror.tree(commit).is_ok_and(|tree| tree.entry(path).is_ok_and(|entry| entry.is_some()))
}

/// What leads from one commit to another.
async fn read_range(mirror: &Mirror, from: &CommitId, to: &CommitId, path: Option<String>) -> Result<Range, Failure> {
    let mut range = mirror.range_commits(from, to, path.as_deref()).await?;
    let (mirror, from, to) = (mirror.clone(), *from, *to);
    (range.files, range.truncated) = aside(move || Ok(mirror.range_files(&from, &to, path.as_deref())?)).await?;
    Ok(range)
}

/// The history before the commit that a round starts from, and those of the code sources.
pub(super) struct RoundHistory<'a> {
    pub(super) mirror: &'a Mirror,
    pub(super) commit: &'a CommitId,
    pub(super) sources: &'a OpenSources,
}

impl History for RoundHistory<'_> {
    fn renames(&self) -> BoxFuture<'_, Result<Renames, String>> {
        Box::pin(async { self.mirror.renames(self.commit).await.map_err(|error| error.to_string()) })
    }

    fn past<'a>(&'a self, source: Option<&'a str>, asked: &'a PastQuestion) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let (mirror, commit) = match source {
                Some(name) => self.sources.find(name).map(|(mirror, commit)| (mirror, commit))?,
                None => (self.mirror, self.commit),
            };
            mirror.past(commit, asked).await.map_err(|error| error.to_string())
        })
    }

    fn range<'a>(&'a self, asked: &'a RangeQuestion) -> BoxFuture<'a, Result<Range, String>> {
        Box::pin(self.sources.answer(asked))
    }
}
