// The preset for Trello: cards that are created, moved, assigned, commented or done; one session per card.
import { entryOf, type EventText, eventMessage, line, Maybe, quote } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Flag = Maybe(Type.Boolean())
const Named = Maybe(Type.Object({ id: Text, name: Text, shortLink: Text }))
const Person = Maybe(Type.Object({ fullName: Text, username: Text }))

const Payload = Type.Object({
  action: Type.Object({
    id: Type.String({ minLength: 1 }),
    type: Type.String({ minLength: 1 }),
    memberCreator: Person,
    /** The program that acted for a member, through the API. */
    appCreator: Maybe(Type.Object({ id: Text })),
    member: Person,
    data: Type.Object({
      text: Text,
      card: Maybe(
        Type.Object({
          id: Text,
          name: Text,
          idShort: Maybe(Type.Number()),
          shortLink: Text,
          desc: Text,
          closed: Flag,
          due: Text,
          dueComplete: Flag,
        }),
      ),
      old: Maybe(Type.Record(Type.String(), Type.Unknown())),
      board: Named,
      cardSource: Named,
      boardSource: Named,
      boardTarget: Named,
      list: Named,
      listBefore: Named,
      listAfter: Named,
      member: Named,
      attachment: Maybe(Type.Object({ name: Text, url: Text })),
      checkItem: Maybe(Type.Object({ name: Text, state: Text })),
      checklist: Named,
    }),
  }),
})
type Payload = Static<typeof Payload>
type Action = Payload['action']
type Data = Action['data']

export default definePreset<Payload>({
  name: 'trello',
  description: 'Cards of Trello boards.',
  payload: Payload,
  mapping: { name: 'Trello' },
  auth: {
    scheme: 'hmac',
    header: 'x-trello-webhook',
    algorithm: 'sha1',
    encoding: 'base64',
    signed: '{body}{url}',
    handshake: { head: true },
  },
  deliveryId: ({ payload }) => payload.action.id,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

function toAction({ payload: { action } }: PresetRequest<Payload>) {
  const { data, memberCreator: creator } = action
  const eventText = entryOf(eventHandlers, action.type)?.(action)
  if (!eventText) return null
  const { card, board } = data
  const who = line(creator?.fullName || creator?.username, 100) || 'Somebody'
  const where = quote(board?.name, 100)
  const message = eventMessage('Trello', {
    ...eventText,
    head: `${who} ${eventText.head}${where && ` (board ${where})`}`,
    link: linkTo('c', card?.shortLink) ?? linkTo('b', board?.shortLink),
  })
  return { message, sessionKey: `hook:trello:${line(card?.id || board?.id, 200) || 'boards'}` }
}

const linkTo = (kind: 'b' | 'c', shortLink: string | null | undefined): string | undefined =>
  shortLink ? `https://trello.com/${kind}/${encodeURIComponent(line(shortLink, 100))}` : undefined

/** By the type of the action. Other types are skipped. */
const eventHandlers: Readonly<Record<string, (action: Action) => EventText | null>> = {
  createCard: ({ data }) => describeNew('created', data),
  copyCard: ({ data }) => describeNew(`copied ${cardOf({ card: data.cardSource })} to`, data),
  emailCard: ({ data }) => describeNew('wrote an email that created', data),
  convertToCardFromCheckItem: ({ data }) =>
    describeNew(
      data.cardSource
        ? `turned an item of ${cardOf({ card: data.cardSource })} into`
        : 'turned an item of a checklist into',
      data,
    ),
  updateCard: ({ data }) => describeUpdate(data),
  deleteCard: ({ data }) => ({ head: `deleted ${cardOf(data)}` }),
  moveCardToBoard: ({ data }) => ({ head: `added ${cardOf(data)} from ${boardOf(data.boardSource)}` }),
  moveCardFromBoard: ({ data }) => ({ head: `moved ${cardOf(data)} to ${boardOf(data.boardTarget)}` }),
  // Comments of programs are skipped: an agent that comments would otherwise answer its own comments.
  commentCard: ({ data, appCreator: app }) =>
    app?.id ? null : { head: `commented on ${cardOf(data)}`, text: data.text },
  addMemberToCard: (action) => ({ head: `added ${memberOf(action)} to ${cardOf(action.data)}` }),
  removeMemberFromCard: (action) => ({ head: `removed ${memberOf(action)} from ${cardOf(action.data)}` }),
  addAttachmentToCard: ({ data }) => ({
    head: `attached ${quote(data.attachment?.name, 100) || 'a file'} to ${cardOf(data)}`,
    details: [data.attachment?.url],
  }),
  updateCheckItemStateOnCard: ({ data }) =>
    data.checkItem?.state === 'complete'
      ? { head: `completed ${quote(data.checkItem.name, 100) || 'an item'} of ${cardOf(data)}` }
      : null,
}

const describeNew = (verb: string, data: Data): EventText => ({
  head: `${verb} ${cardOf(data)}${data.list?.name ? ` in list ${quote(data.list.name, 100)}` : ''}`,
  text: data.card?.desc,
})

/** Only some changes of a card are reported: not its position, its description, its labels or its cover. */
function describeUpdate({ card, old, listBefore, listAfter, ...data }: Data): EventText | null {
  const name = cardOf({ ...data, card })
  if (listBefore && listAfter)
    return {
      head: `moved ${name}`,
      details: [`List: ${line(listBefore.name, 200) || 'unnamed'} → ${line(listAfter.name, 200) || 'unnamed'}`],
    }
  if (hasChanged(old, 'closed'))
    return { head: card?.closed ? `archived ${name}` : `restored ${name} from the archive` }
  if (hasChanged(old, 'dueComplete'))
    return { head: `marked ${name} as ${card?.dueComplete ? 'complete' : 'not complete'}` }
  if (hasChanged(old, 'due'))
    return card?.due
      ? { head: `set the due date of ${name} to ${line(card.due, 50)}` }
      : { head: `removed the due date of ${name}` }
  if (hasChanged(old, 'name')) return { head: `renamed ${name}`, details: [oldName(old)] }
  return null
}

const hasChanged = (old: Data['old'], field: string): boolean => Object.hasOwn(old ?? {}, field)

function oldName(old: Data['old']): string | undefined {
  const { name } = old ?? {}
  return typeof name === 'string' && name ? `Before: ${name}` : undefined
}

interface CardName {
  name?: string | null | undefined
  idShort?: number | null | undefined
}

function cardOf({ card }: { card?: CardName | null | undefined }): string {
  const name = quote(card?.name, 100) || (card?.idShort ? `#${card.idShort}` : '')
  return name ? `card ${name}` : 'a card'
}

const boardOf = (board: Data['board']): string => (board?.name ? `board ${quote(board.name, 100)}` : 'another board')

const memberOf = ({ member, data }: Action): string =>
  line(member?.fullName || member?.username || data.member?.name, 100) || 'somebody'
