// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

/** A part of a region of shared memory, as a request names it. Immutable. */
public record RegionPart(String name, long offset, long byteSize) {}
