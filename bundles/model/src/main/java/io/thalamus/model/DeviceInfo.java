// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import io.thalamus.memory.MemoryKind;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * The facts of a device. Immutable; built with {@link #builder(String, String)}.
 *
 * @param name unique among the devices, for example {@code thalamus-cpu}: one dash, not at an end
 * @param version identifies the implementation; not empty
 * @param type what the device is
 * @param featureLevel the newest HAL version whose operations it may accept
 * @param capabilities declared performance
 * @param cacheNeeds how many files it stores a compilation in
 * @param memoryKinds the kinds of pool that it can read and write
 * @param memoryDomain whether it can allocate buffers of its own
 * @param extensions the names of the extensions that it knows
 * @param exactQuantized whether its results of quantized types equal the reference bit for bit
 * @param pointerArguments whether it takes arguments by {@code Request.Pointer}, and keeps the
 *     contract that is stated there; false where nothing is said. A CPU device that is built on the
 *     driver library keeps it without work of its own, and always says so.
 * @param cacheSharedByPriorities whether a compilation that it has stored for one priority may be
 *     restored for another; false where nothing is said, as AOSP's token distinguishes priorities
 */
public record DeviceInfo(
    String name,
    String version,
    DeviceType type,
    FeatureLevel featureLevel,
    Capabilities capabilities,
    CacheNeeds cacheNeeds,
    Set<MemoryKind> memoryKinds,
    boolean memoryDomain,
    Set<String> extensions,
    boolean exactQuantized,
    boolean pointerArguments,
    boolean cacheSharedByPriorities) {
  public DeviceInfo {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(featureLevel, "featureLevel");
    Objects.requireNonNull(capabilities, "capabilities");
    Objects.requireNonNull(cacheNeeds, "cacheNeeds");
    memoryKinds = Set.copyOf(memoryKinds);
    extensions = Set.copyOf(extensions);
  }

  /** Returns the same facts of a device that takes arguments by pointer. */
  public DeviceInfo withPointerArguments() {
    return new DeviceInfo(
        name,
        version,
        type,
        featureLevel,
        capabilities,
        cacheNeeds,
        memoryKinds,
        memoryDomain,
        extensions,
        exactQuantized,
        true,
        cacheSharedByPriorities);
  }

  /** A builder for a device of this name and version. */
  public static Builder builder(String name, String version) {
    return new Builder(name, version);
  }

  /** Collects facts; what is not said has the value of a plain CPU device of the newest level. */
  public static final class Builder {
    private final String name;
    private final String version;
    private DeviceType type = DeviceType.CPU;
    private FeatureLevel featureLevel = FeatureLevel.V1_3;
    private Capabilities capabilities;
    private CacheNeeds cacheNeeds = CacheNeeds.NONE;
    private Set<MemoryKind> memoryKinds =
        EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD, MemoryKind.HARDWARE_BUFFER_BLOB);
    private boolean memoryDomain;
    private Set<String> extensions = Set.of();
    private boolean exactQuantized;
    private boolean pointerArguments;
    private boolean cacheSharedByPriorities;

    private Builder(String name, String version) {
      this.name = name;
      this.version = version;
    }

    public Builder type(DeviceType value) {
      type = value;
      return this;
    }

    public Builder featureLevel(FeatureLevel value) {
      featureLevel = value;
      return this;
    }

    public Builder capabilities(Capabilities value) {
      capabilities = value;
      return this;
    }

    public Builder cacheNeeds(CacheNeeds value) {
      cacheNeeds = value;
      return this;
    }

    public Builder memoryKinds(Set<MemoryKind> value) {
      memoryKinds = value;
      return this;
    }

    public Builder memoryDomain(boolean value) {
      memoryDomain = value;
      return this;
    }

    public Builder extensions(Set<String> value) {
      extensions = value;
      return this;
    }

    public Builder exactQuantized(boolean value) {
      exactQuantized = value;
      return this;
    }

    public Builder pointerArguments(boolean value) {
      pointerArguments = value;
      return this;
    }

    public Builder cacheSharedByPriorities(boolean value) {
      cacheSharedByPriorities = value;
      return this;
    }

    /** The facts; capabilities must have been given. */
    public DeviceInfo build() {
      return new DeviceInfo(
          name,
          version,
          type,
          featureLevel,
          capabilities,
          cacheNeeds,
          memoryKinds,
          memoryDomain,
          extensions,
          exactQuantized,
          pointerArguments,
          cacheSharedByPriorities);
    }
  }
}
