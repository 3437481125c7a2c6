// A feed: who hears what, and who has left.
import { expect, it } from 'vitest'
import { createFeed } from '../../core/store/feed.ts'

it('tells whoever listens at the moment', () => {
  const feed = createFeed<string>()
  const heard: string[] = []
  feed.publish('too early')
  const leave = feed.subscribe((item) => heard.push(`a ${item}`))
  const leaveToo = feed.subscribe((item) => heard.push(`b ${item}`))
  feed.publish('one')
  leave()
  feed.publish('two')
  expect(feed.hasSubscribers()).toBe(true)
  leaveToo()
  leaveToo()
  feed.publish('too late')
  expect(heard).toEqual(['a one', 'b one', 'b two'])
  expect(feed.hasSubscribers()).toBe(false)
})

it('lets one listener listen twice, and leave while it is told', () => {
  const feed = createFeed<string>()
  const heard: string[] = []
  const subscriber = (item: string) => void heard.push(item)
  const leave = feed.subscribe(subscriber)
  feed.subscribe(() => leave())
  feed.subscribe(subscriber)
  feed.publish('one')
  feed.publish('two')
  expect(heard).toEqual(['one', 'one', 'two'])
})
