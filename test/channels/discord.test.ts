// The Discord channel with Discord's own libraries, against a double of Discord.
import discord from '../../channels/discord/index.ts'
import { channelContract } from '../contracts/channel.ts'
import { openDiscord } from '../doubles/discord.ts'

channelContract(discord, openDiscord)
