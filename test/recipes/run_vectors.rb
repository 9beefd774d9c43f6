# frozen_string_literal: true

# Prints what the recipe says of each vector, one per line: run_vectors.rb <vectors.json>

require 'json'
require_relative '../../docs/recipes/verify_signature'

JSON.parse(File.read(ARGV.fetch(0), encoding: 'UTF-8')).fetch('vectors').each do |vector|
  body = vector.fetch('body_base64').unpack1('m')
  puts Gapless.signature_problem(vector['header'], body, vector['secret'], vector['now']) || 'valid'
end
