// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * A memory as it is at a moment. Immutable.
 *
 * @param name for people
 * @param owner the application that has made it: the symbolic name of a bundle
 * @param type of its elements
 * @param shape of the contents, or as far as the dimensions are known; 0 for open ones
 * @param bytes of the contents, or room for them; 0 if that is not known
 * @param places where the contents are: ids of devices, {@link #SHARED}; empty if there are none
 * @param home the device that has room for it, or {@link #SHARED}
 * @param roles what it is used for, one text each
 * @param state whether it holds anything
 * @param reason why its contents are lost; else empty
 * @param shadowed whether shared memory gets a copy of what each execution writes
 * @param age the time since it was made
 */
public record MemoryInfo(
    String name,
    String owner,
    OperandType type,
    Shape shape,
    long bytes,
    List<String> places,
    String home,
    List<String> roles,
    State state,
    String reason,
    boolean shadowed,
    Duration age) {
  /** The place of contents in memory that every device can map. */
  public static final String SHARED = "shared memory";

  public MemoryInfo {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(owner, "owner");
    Objects.requireNonNull(age, "age");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(home, "home");
    Objects.requireNonNull(state, "state");
    Objects.requireNonNull(reason, "reason");
    places = List.copyOf(places);
    roles = List.copyOf(roles);
  }

  /** The states of the contents. */
  public enum State {
    /** Nothing was written yet, or what wrote it failed. */
    UNINITIALIZED,
    INITIALIZED,
    /** The device that had the only copy crashed, or left without giving it out. */
    DEAD
  }
}
