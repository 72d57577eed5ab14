// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

import io.thalamus.serving.InferenceRequest.OutputAllocator;
import io.thalamus.serving.InferenceServer.SharedRegions;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.Function;

/** Memory for outputs: shared memory where the request says so, else that of the request. */
public final class PlacedOutputs implements OutputAllocator {
  private final Function<String, Optional<RegionPart>> places;
  private final SharedRegions regions;
  private final RequestMemory memory;

  /** True once an output of which only the execution finds the size was given its memory. */
  private boolean isGrowing;

  /**
   * Memory for the outputs of one request.
   *
   * @param places where an output is to be, by its name
   */
  public PlacedOutputs(
      Function<String, Optional<RegionPart>> places, SharedRegions regions, RequestMemory memory) {
    this.places = places;
    this.regions = regions;
    this.memory = memory;
  }

  @Override
  public MemorySegment allocate(TensorMetadata output, long byteSize) throws ServingException {
    String what = "output " + Texts.quote(output.name());
    Optional<RegionPart> place = places.apply(output.name());
    if (place.isEmpty()) {
      return memory.allocate(what, byteSize);
    }
    RegionPart part = place.get();
    boolean isOpen = output.shape().contains(-1L);
    if (part.byteSize() < byteSize && (!isOpen || isGrowing)) {
      throw ServingException.invalid(
          "%s: shared_memory_byte_size is %d: expected at least %d"
              .formatted(what, part.byteSize(), byteSize));
    }
    // The first size of an open output is a guess.
    isGrowing = isOpen;
    return regions.segment(part.name(), part.offset(), part.byteSize());
  }
}
