// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.serving.protocol.RegionPart;
import java.util.Optional;

/**
 * An output that a request asks for. Immutable.
 *
 * @param isBinary whether its value is to come as bytes; empty if the request does not say
 * @param region the shared memory that its value is to be written to
 * @param classes the most classes that are to come in place of its value; 0 for the value
 */
record WantedOutput(
    String name, Optional<Boolean> isBinary, Optional<RegionPart> region, long classes) {}
