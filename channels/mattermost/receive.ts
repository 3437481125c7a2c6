// Hands posts to the gateway in order, and remembers how far it has come, so that nothing is lost in a gap.
import { createSerialQueue, shortenRepeatedQuotes } from 'svc-gateway/kit'
import type { ChannelContext, InboundMessage } from 'svc-gateway/plugin'
import type { Api } from './api.ts'
import type { Directory } from './directory.ts'
import { isPost, type Post } from './post.ts'

interface ReceiveDeps {
  api: Api
  context: Pick<ChannelContext, 'receive' | 'lost' | 'log' | 'state'>
  serverTime: number
  directory: Pick<Directory, 'noteType'>
  read(post: Post): Promise<InboundMessage | undefined>
}

interface ChannelInfo {
  id: string
  type: string
  last_post_at: number
}

/** The time of the newest post that was handled, in the server's milliseconds. */
const cursorName = 'cursor'

/** Posts of different channels may arrive out of order by this much. The gateway ignores those that it knows. */
const overlapMs = 10_000

export function receivePosts({ api, context, serverTime, directory, read }: ReceiveDeps) {
  const started = Promise.withResolvers<void>()
  const queue = createSerialQueue()
  const receive = shortenRepeatedQuotes(context.receive)
  let cursor = 0
  let ended = false
  let caughtUp: ReadonlySet<string> = new Set()

  async function handle(post: Post): Promise<void> {
    // What arrived while it caught up may be the same.
    if (ended || caughtUp.has(post.id)) return
    const message = await read(post)
    if (message) await receive(message)
    else context.log.debug({}, 'a post was ignored: it is not a message of a person')
    if (post.create_at <= cursor) return
    cursor = post.create_at
    await context.state.set(cursorName, cursor)
  }

  /** What was posted since the cursor, also while the gateway was not running. */
  async function catchUp(): Promise<void> {
    const stored = await context.state.get(cursorName)
    cursor = typeof stored === 'number' ? stored : serverTime
    if (stored === undefined) await context.state.set(cursorName, cursor)
    const since = typeof stored === 'number' ? Math.max(0, stored - overlapMs) : serverTime
    const posts = await postsSince(since)
    for (const post of posts) await handle(post)
    caughtUp = new Set(posts.map(({ id }) => id))
  }

  async function postsSince(since: number): Promise<Post[]> {
    const posts: Post[] = []
    for (const { id, type, last_post_at: last } of await api.get<ChannelInfo[]>('users/me/channels')) {
      directory.noteType(id, type)
      if (ended || last <= since) continue
      const page = await api.get<{ posts?: Record<string, unknown> }>(`channels/${id}/posts?since=${since}`)
      posts.push(...Object.values(page.posts ?? {}).filter(isPost))
    }
    // The server also gives older posts that have changed since, and those of the same thread.
    return posts.filter((post) => post.create_at > since).toSorted((one, other) => one.create_at - other.create_at)
  }

  /** The next connection starts again at the cursor, so nothing after the failure may move it. */
  function fail(error: unknown): void {
    if (ended) return
    ended = true
    context.log.debug({ err: error }, 'receiving failed')
    context.lost('A message could not be received; it is tried again after reconnecting.')
  }
  const enqueue = (work: () => Promise<void>): void => void queue.add(() => work().catch(fail))

  enqueue(() => started.promise.then(catchUp))

  return {
    onPost: (post: Post): void => enqueue(() => handle(post)),
    /** Starts with what was missed; what arrives meanwhile comes after it. */
    start: started.resolve,
    async close(): Promise<void> {
      ended = true
      await queue.settled()
    },
  }
}
