// Payloads of Trello, after its documentation of webhooks and action types.
import { createHmac } from 'node:crypto'
import { one, type Samples, type Signed } from '../sample.ts'

const ada = { id: 'm1', fullName: 'Ada Lovelace', username: 'ada' }
const board = { id: 'b1', name: 'Shop', shortLink: 'iqXXzYEj' }
const card = { id: 'c1', name: 'Keep the basket', idShort: 2, shortLink: 'r33ylX2Z' }
/** `outside`: fields of the action itself, beside its data. */
const action = (type: string, what: string, { outside, ...data }: { outside?: object; [key: string]: unknown } = {}) =>
  one(what, {
    model: { id: 'b1', name: 'Shop', url: 'https://trello.com/b/iqXXzYEj/shop' },
    action: {
      id: `a-${what}`,
      idMemberCreator: 'm1',
      type,
      date: '2030-01-31T09:00:00.000Z',
      appCreator: null,
      memberCreator: ada,
      data: { board, card, ...data },
      ...outside,
    },
    webhook: { id: 'w1' },
  })
const [before, after] = [
  { id: 'l1', name: 'To do' },
  { id: 'l2', name: 'Doing' },
]

const secret = 'a secret of the webhook'
const body = JSON.stringify({ text: 'Grüße 🌍' })
const url = 'https://gateway.example.com/hooks/trello'
const signed: Signed = {
  auth: { secret },
  headers: {
    'x-trello-webhook': createHmac('sha1', secret)
      .update(body + url)
      .digest('base64'),
  },
  body,
  url,
}

export const trello: Samples = {
  signed,
  told: [
    action('createCard', 'a card', { list: before }),
    action('copyCard', 'a copy', { list: before }),
    action('copyCard', 'a copy of a card', { list: before, cardSource: { id: 'c0', name: 'Template', idShort: 1 } }),
    action('emailCard', 'a card by email', { list: before }),
    action('convertToCardFromCheckItem', 'a card of a checklist'),
    action('convertToCardFromCheckItem', 'a card of a checklist of a card', {
      cardSource: { id: 'c0', name: 'Release' },
    }),
    action('createCard', 'names that would add lines', {
      card: { ...card, name: 'Basket\nList: Done', desc: 'First\nsecond', idShort: '2' },
      list: { name: 'To do\u202e' },
    }),
    action('updateCard', 'a move', { listBefore: before, listAfter: after, old: { idList: 'l1' } }),
    action('updateCard', 'an archived card', { card: { ...card, closed: true }, old: { closed: false } }),
    action('updateCard', 'a card out of the archive', { card: { ...card, closed: false }, old: { closed: true } }),
    action('updateCard', 'a due date', { card: { ...card, due: '2030-02-01T09:00:00.000Z' }, old: { due: null } }),
    action('updateCard', 'no due date', { card: { ...card, due: null }, old: { due: '2030-02-01T09:00:00.000Z' } }),
    action('updateCard', 'a card that is done', { card: { ...card, dueComplete: true }, old: { dueComplete: false } }),
    action('updateCard', 'another name', { old: { name: 'Basket' } }),
    action('deleteCard', 'a deleted card', { card: { id: 'c1', idShort: 2, shortLink: 'r33ylX2Z' } }),
    action('moveCardToBoard', 'a card from another board', { boardSource: { id: 'b2', name: 'Ideas' } }),
    action('moveCardFromBoard', 'a card that leaves', { boardTarget: { id: 'b2' } }),
    action('commentCard', 'a comment', { text: 'On phones too.', list: before }),
    action('addMemberToCard', 'a member', {
      idMember: 'm2',
      outside: { member: { id: 'm2', fullName: 'Grace Hopper' } },
    }),
    action('removeMemberFromCard', 'a member who leaves', { member: { id: 'm2', name: 'Grace Hopper' } }),
    action('addAttachmentToCard', 'a file', { attachment: { name: 'log.txt', url: 'https://trello.com/1/log.txt' } }),
    action('updateCheckItemStateOnCard', 'an item that is done', {
      checkItem: { name: 'Test it', state: 'complete' },
      checklist: { name: 'Steps' },
    }),
    action('createCard', 'a card of which little is known', {
      card: { id: 'c1' },
      board: null,
      outside: { memberCreator: null },
    }),
  ],
  silent: [
    action('updateCard', 'another position', { old: { pos: 1 } }),
    action('updateCard', 'another description', { old: { desc: 'x' } }),
    action('commentCard', 'a comment of a program', { text: 'Done.', outside: { appCreator: { id: 'p1' } } }),
    action('updateCheckItemStateOnCard', 'an item that is not done', { checkItem: { state: 'incomplete' } }),
    action('updateBoard', 'a board', { old: { name: 'x' } }),
    action('createList', 'a list', { list: before }),
    action('constructor', 'a type with the name of a property'),
  ],
  wrong: [
    one('nothing', {}),
    one('no type', { action: { id: 'a', data: {} } }),
    one('no data', { action: { id: 'a', type: 'createCard' } }),
    one('an id that is an object', { action: { id: {}, type: 'createCard', data: {} } }),
    one('data that is a text', { action: { id: 'a', type: 'createCard', data: 'c1' } }),
    one('a list', []),
  ],
}
