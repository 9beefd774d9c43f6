# frozen_string_literal: true

# Verifies X-Service-Signature. Ruby 3.0 or later, no dependencies.
#
#   problem = Gapless.signature_problem(request.get_header('HTTP_X_SERVICE_SIGNATURE'), request.body.read, secret)
#   return head :unauthorized unless problem.nil?
#
# The body is what request.body gives (request.raw_post in Rails), before anything has parsed it.

require 'openssl'

module Gapless
  TOLERANCE_SECONDS = 300

  # nil if the signature is good; else :missing, :malformed, :expired or :mismatch.
  def self.signature_problem(header, body, secret, now = Time.now.to_i)
    return :missing if header.nil? || header.empty?

    # Members of other names are left for later versions. While a secret is replaced, there is one v1 for each of the two.
    members = {}
    digests = []
    # As bytes, since a header need not be UTF-8; without the limit, split drops empty members at the end.
    header.b.split(',', -1).each do |text|
      # \A and \z, since ^ and $ match at line feeds.
      match = /\A([a-z][a-z0-9]*)=([!-~]+)\z/.match(text)
      return :malformed if match.nil? || members.key?(match[1])

      if match[1] == 'v1'
        digests << match[2]
      else
        members[match[1]] = match[2]
      end
    end
    t = members.fetch('t', '')
    return :malformed unless t.match?(/\A(0|[1-9][0-9]{0,11})\z/)
    return :malformed if digests.empty? || !digests.all? { |v1| v1.match?(/\A[0-9a-f]+\z/) }

    return :expired if (now - t.to_i).abs > TOLERANCE_SECONDS

    # Anyone can sign with an empty key.
    return :mismatch if secret.empty?

    expected = OpenSSL::HMAC.hexdigest('SHA256', secret, "#{t}.".b + body.b)
    digests.any? { |v1| OpenSSL.secure_compare(expected, v1) } ? nil : :mismatch
  end
end
