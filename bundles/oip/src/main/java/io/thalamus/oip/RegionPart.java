// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

/** A part of a region of shared memory, as a request names it. Immutable. */
record RegionPart(String region, long offset, long byteSize) {}
