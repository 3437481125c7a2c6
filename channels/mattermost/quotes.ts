// Reads what a post quotes: a post that somebody shares, and the one with which a thread begins.
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import type { Attachment, InboundMessage, QuotedMessage } from 'svc-gateway/plugin'
import type { Directory } from './directory.ts'
import { isPost, type Post } from './post.ts'

interface QuotesDeps {
  directory: Pick<Directory, 'personOf'>
  self: { id: string }
  readFiles(post: Post): Promise<Attachment[]>
}

interface Own {
  text: string
  attachments: Attachment[]
}

export interface Quotes {
  /** The text and the files of a post, and the post that it shares. */
  readShare(own: Own, post: Post): Promise<Own & Pick<InboundMessage, 'quoted' | 'forwardedFrom'>>
  /** A post that another one answers. */
  quote(post: Post): Promise<QuotedMessage>
}

export function createQuotes({ directory, self, readFiles }: QuotesDeps): Quotes {
  async function quote(post: Post): Promise<QuotedMessage & Own> {
    const { id, user_id: author, props } = post
    const name = textOf(props?.['override_username']) ?? (await directory.personOf(author)).name
    const isOwn = author === self.id
    return { id, isOwn, from: { id: author, name }, text: textIn(post), attachments: await readFiles(post) }
  }

  /** "Forward" writes a post with a link to the other one, which the server embeds. Without a word, it is passed on. */
  async function readShare(own: Own, { metadata }: Post): ReturnType<Quotes['readShare']> {
    const shared = listOf(metadata?.embeds).map(postIn).find(isPost)
    if (!shared) return own
    const quoted = await quote(shared)
    const text = own.text.replaceAll(new RegExp(String.raw`\S*/pl/${shared.id}\S*`, 'g'), '').trim()
    if (text !== '' || own.attachments.length > 0) return { ...own, text, quoted }
    return { text: quoted.text, attachments: quoted.attachments, forwardedFrom: { name: quoted.from?.name } }
  }

  return { readShare, quote }
}

function postIn(embed: unknown): unknown {
  const { type, data } = fieldsOf(embed)
  return type === 'permalink' ? fieldsOf(data)['post'] : undefined
}

/** Integrations often write no text, but only cards. */
function textIn({ message, props }: Post): string {
  const cards = listOf(props?.['attachments'])
    .map(fieldsOf)
    .map(({ pretext, title, text, fallback }) => {
      const parts = [pretext, title, text].flatMap((part) => textOf(part) ?? [])
      return parts.length > 0 ? parts.join('\n') : textOf(fallback)
    })
  return textOf(message) ?? cards.filter(Boolean).join('\n\n')
}
