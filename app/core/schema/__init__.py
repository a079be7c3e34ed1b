"""The JSON Schema of a tool's arguments: does a call fit it, and does it fit a budget?

valid     are a call's arguments valid?
walk      a schema's subschemas, and what is loose in which place
clip      texts cut to a number of bytes
refs      references and definitions
profiles  what an upstream takes of JSON Schema
ladder    a schema made smaller, rung by rung
budget    a tool whose declaration fits a budget
"""
