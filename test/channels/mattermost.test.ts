// The Mattermost channel: the channel contract, and what is special about Mattermost, with its library and a double.
import mattermost from '../../channels/mattermost/index.ts'
import { channelContract } from '../contracts/channel.ts'
import { startMattermost } from '../doubles/mattermost.ts'

channelContract(mattermost, startMattermost)
