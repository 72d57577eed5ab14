// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * The shape and use of a hardware buffer: Android's AHardwareBuffer_Desc. Immutable.
 *
 * @param width pixels of a row; for {@link Format#BLOB} bytes
 * @param height rows of a layer; for BLOB 1
 * @param layers images of a buffer; for BLOB 1
 * @param format of a pixel
 * @param usage what the buffer is for, at least one use
 */
public record HardwareBufferDesc(
    int width, int height, int layers, Format format, Set<Usage> usage) {
  /** Rows begin at multiples of this, so that vectors read them aligned. */
  private static final int ROW_ALIGNMENT = 64;

  public HardwareBufferDesc {
    Objects.requireNonNull(format, "format");
    if (width < 1 || height < 1 || layers < 1) {
      throw new IllegalArgumentException(
          "a hardware buffer has no %d x %d pixels in %d layers".formatted(width, height, layers));
    }
    if (format == Format.BLOB && (height != 1 || layers != 1)) {
      throw new IllegalArgumentException(
          "a BLOB has height 1 and 1 layer, not height %d and %d layers".formatted(height, layers));
    }
    if (usage.isEmpty()) {
      throw new IllegalArgumentException("a hardware buffer without any use");
    }
    usage = Set.copyOf(usage);
  }

  /** Describes linear bytes that this process and others read and write. */
  public static HardwareBufferDesc blob(int bytes) {
    return new HardwareBufferDesc(
        bytes, 1, 1, Format.BLOB, EnumSet.of(Usage.CPU_READ, Usage.CPU_WRITE));
  }

  /** The formats of pixels, with the numbers of AHARDWAREBUFFER_FORMAT. */
  public enum Format {
    /** Red, green, blue, alpha, a byte each. */
    R8G8B8A8_UNORM(1, 4),
    /** Red, green, blue, a byte each, and a byte without meaning. */
    R8G8B8X8_UNORM(2, 4),
    /** Red, green, blue, a byte each. */
    R8G8B8_UNORM(3, 3),
    /** Four halves of 16 bits. */
    R16G16B16A16_FLOAT(0x16, 8),
    /** Bytes without structure. */
    BLOB(0x21, 1),
    /** One byte. */
    R8_UNORM(0x38, 1);

    private final int number;
    private final int bytes;

    Format(int number, int bytes) {
      this.number = number;
      this.bytes = bytes;
    }

    /** Returns the number in Android's headers. */
    public int number() {
      return number;
    }

    /** Returns the bytes of a pixel. */
    public int bytes() {
      return bytes;
    }
  }

  /** The uses of a buffer, of those of AHARDWAREBUFFER_USAGE that exist here. */
  public enum Usage {
    /** The processor reads it under a lock. */
    CPU_READ,
    /** The processor writes it under a lock. */
    CPU_WRITE,
    /** Devices read and write it in executions. */
    GPU_DATA_BUFFER
  }

  /** Returns the distance of two rows in pixels, as the allocator chooses it. */
  int stride() {
    if (format == Format.BLOB) {
      return width;
    }
    int pixels = ROW_ALIGNMENT / Integer.lowestOneBit(format.bytes() | ROW_ALIGNMENT);
    return Math.multiplyExact(Math.ceilDiv(width, pixels), pixels);
  }

  /** Returns the bytes of a buffer with rows at this distance. */
  long size(int stride) {
    return Math.multiplyExact((long) stride * format.bytes(), (long) height * layers);
  }

  /** Returns the kind of memory that such a buffer is. */
  MemoryKind kind() {
    return format == Format.BLOB ? MemoryKind.HARDWARE_BUFFER_BLOB : MemoryKind.HARDWARE_BUFFER;
  }
}
