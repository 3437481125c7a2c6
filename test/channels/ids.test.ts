// The ids of senders and groups, as people write them in the configuration of each channel.
import { describe, expect, it } from 'vitest'
import discord from '../../channels/discord/index.ts'
import imessage from '../../channels/imessage/index.ts'
import mattermost from '../../channels/mattermost/index.ts'
import msteams from '../../channels/msteams/index.ts'
import signal from '../../channels/signal/index.ts'
import slack from '../../channels/slack/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import { findIdProblem, normalizeId } from '../../core/config/channels/ids.ts'
import type { Channel } from '../../core/plugin/plugin.ts'

const channels = { discord, imessage, mattermost, msteams, signal, slack, telegram, whatsapp } as const
type Name = keyof typeof channels
type Kind = 'sender' | 'group'

const person = '8f2c52bf-9522-4bc6-a40c-da48bccb1110'
const signalGroup = 'Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI='

const channelOf = (name: Name) => channels[name] as unknown as Channel<never>

describe('an id in the configuration', () => {
  it.each<[Name, Kind, string, string]>([
    ['whatsapp', 'sender', '15556660001', '+15556660001'],
    ['whatsapp', 'sender', '+1 (555) 666-0001', '+15556660001'],
    ['whatsapp', 'sender', '0015556660001', '+15556660001'],
    ['whatsapp', 'sender', '15556660001@s.whatsapp.net', '+15556660001'],
    ['whatsapp', 'sender', '15556660001:12@s.whatsapp.net', '+15556660001'],
    ['whatsapp', 'sender', '15556660001@c.us', '+15556660001'],
    ['whatsapp', 'sender', '1234567890123@lid', '1234567890123@lid'],
    ['whatsapp', 'sender', 'US.13491208655302741918', 'US.13491208655302741918'],
    ['whatsapp', 'sender', 'US.ENT.11815799212886844830', 'US.ENT.11815799212886844830'],
    ['whatsapp', 'sender', ' * ', '*'],
    ['whatsapp', 'group', 'Y2FwaV9ncm91cDoxNzA1NTU1MDEzOQZD', 'Y2FwaV9ncm91cDoxNzA1NTU1MDEzOQZD'],
    ['whatsapp', 'group', '120363025246125244@g.us', '120363025246125244@g.us'],
    ['whatsapp', 'group', '15551112222-1400000000@g.us', '15551112222-1400000000@g.us'],
    ['signal', 'sender', '1 555 111 2222', '+15551112222'],
    ['signal', 'sender', person.toUpperCase(), person.toUpperCase()],
    ['signal', 'group', signalGroup, signalGroup],
    ['imessage', 'sender', '+1 555-111-2222', '+15551112222'],
    ['imessage', 'sender', 'tel:+1-555-111-2222', '+15551112222'],
    ['imessage', 'sender', '0155 5111222', '01555111222'],
    ['imessage', 'sender', 'mailto:Ann@Example.org', 'Ann@Example.org'],
    ['imessage', 'group', 'iMessage;+;chat831551415676550', 'iMessage;+;chat831551415676550'],
    ['telegram', 'sender', '123456789', '123456789'],
    ['telegram', 'sender', '-1001234567890', '-1001234567890'],
    ['telegram', 'group', '-1001234567890', '-1001234567890'],
    ['discord', 'sender', '<@200000000000000001>', '200000000000000001'],
    ['discord', 'sender', '<@!200000000000000001>', '200000000000000001'],
    ['discord', 'sender', 'user:200000000000000001', '200000000000000001'],
    ['discord', 'group', '<#100000000000000002>', '100000000000000002'],
    ['slack', 'sender', '<@U0123456789>', 'U0123456789'],
    ['slack', 'sender', '<@U0123456789|ann>', 'U0123456789'],
    ['slack', 'sender', 'u0123456789', 'U0123456789'],
    ['slack', 'group', '<#C0123456789|general>', 'C0123456789'],
    ['mattermost', 'sender', '8qr1h4m9xjbz3kd5yw7gcfp2ne', '8qr1h4m9xjbz3kd5yw7gcfp2ne'],
    ['msteams', 'sender', `8:orgid:${person}`, person],
    ['msteams', 'sender', '29:1abcDEF', '29:1abcDEF'],
    ['msteams', 'group', '19:abc@thread.tacv2', '19:abc@thread.tacv2'],
  ])('of %s (%s) may be written as %s', (...[name, kind, written, normal]) => {
    expect(normalizeId(channelOf(name), written)).toBe(normal)
    expect(findIdProblem(channelOf(name), kind, written)).toBeUndefined()
  })

  it.each<[Name, Kind, string, string]>([
    ['whatsapp', 'sender', 'Ann', 'a phone number with country code'],
    ['whatsapp', 'sender', '0155 5666001', 'a phone number with country code'],
    ['whatsapp', 'sender', 'US.1349-12', 'a business-scoped user id'],
    ['whatsapp', 'group', 'Family', 'the id of a group'],
    ['whatsapp', 'group', '+15556660001', 'the id of a group'],
    ['signal', 'sender', '@ann.01', 'the UUID of a Signal user'],
    ['signal', 'group', 'Family', 'the id of a group'],
    ['imessage', 'sender', 'Ann', 'an email address'],
    ['imessage', 'group', 'Family', 'the id of a group'],
    ['telegram', 'sender', '@ann', 'a number such as 123456789'],
    ['telegram', 'group', '@news', 'the id of a group'],
    ['discord', 'sender', 'ann#1234', '17 to 20 digits'],
    ['discord', 'group', '#general', '17 to 20 digits'],
    ['slack', 'sender', '@ann', 'the id of a person'],
    ['slack', 'group', '#general', 'the id of a channel'],
    ['mattermost', 'sender', '@ann', 'the id of a person'],
    ['mattermost', 'group', 'town-square', 'the id of a channel'],
    ['msteams', 'sender', 'ann@contoso.com', 'the object ID'],
    ['msteams', 'group', 'General', 'the ID of a channel'],
  ])('of %s (%s) that nobody can have is found: %s', (...[name, kind, written, hint]) => {
    const problem = findIdProblem(channelOf(name), kind, written)
    expect(problem).toMatch(`matches no ${kind} of the channel; use `)
    expect(problem).toContain(hint)
  })
})
