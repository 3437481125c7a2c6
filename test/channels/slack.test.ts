// The Slack channel: the channel contract, and what is special about Slack, with its own library against a double.
import { describe, expect, it } from 'vitest'
import slack from '../../channels/slack/index.ts'
import { channelContract } from '../contracts/channel.ts'
import { startSlack } from '../doubles/slack.ts'

channelContract(slack, startSlack)
