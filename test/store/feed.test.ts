// A feed: who hears what, and who has left.
import { expect, it } from 'vitest'
import { createFeed } from '../../core/store/feed.ts'

it('tells whoever listens at the moment', () => {
  const feed = createFeed<string>()
  const heard: string[] = []
  feed.tell('too early')
  const leave = feed.listen((news) => heard.push(`a ${news}`))
  const leaveToo = feed.listen((news) => heard.push(`b ${news}`))
  feed.tell('one')
  leave()
  feed.tell('two')
  expect(feed.isHeard()).toBe(true)
  leaveToo()
  leaveToo()
  feed.tell('too late')
  expect(heard).toEqual(['a one', 'b one', 'b two'])
  expect(feed.isHeard()).toBe(false)
})

it('lets one listener listen twice, and leave while it is told', () => {
  const feed = createFeed<string>()
  const heard: string[] = []
  const listener = (news: string) => void heard.push(news)
  const leave = feed.listen(listener)
  feed.listen(() => leave())
  feed.listen(listener)
  feed.tell('one')
  feed.tell('two')
  expect(heard).toEqual(['one', 'one', 'two'])
})
