// Samples of Trello's webhooks: a new card, a move, and a comment.
import type { Json, SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const action = (type: string, data: Readonly<Record<string, Json>>) => ({
    model: { id: 'b1', name: 'Shop', url: 'https://trello.com/b/iqXXzYEj/shop' },
    action: {
      id,
      idMemberCreator: 'm1',
      type,
      date: now,
      appCreator: null,
      memberCreator: { id: 'm1', fullName: 'Ada Lovelace', username: 'ada' },
      data: { board, card, ...data },
    },
    webhook: { id: 'w1' },
  })
  return [
    { name: 'card-created', payload: action('createCard', { list: todo }) },
    {
      name: 'card-moved',
      payload: action('updateCard', { listBefore: todo, listAfter: doing, old: { idList: 'l1' } }),
    },
    { name: 'comment-created', payload: action('commentCard', { text: 'It happens on phones only.' }) },
  ]
}

const board = { id: 'b1', name: 'Shop', shortLink: 'iqXXzYEj' }
const card = { id: 'c1', name: 'Keep the cart', idShort: 2, shortLink: 'r33ylX2Z' }
const todo = { id: 'l1', name: 'To do' }
const doing = { id: 'l2', name: 'Doing' }
