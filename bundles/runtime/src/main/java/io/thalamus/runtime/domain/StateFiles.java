// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.cache.CacheEngine;
import io.thalamus.memory.files.AtomicFiles;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Files with the contents of a memory. Thread-safe.
 *
 * <pre>
 * 8 bytes   THALSTAT
 * int       version of the format
 * int, text type and quantization
 * int, ints rank and dimensions
 * ...       the elements
 * 32 bytes  code of the caching engine over all before
 * </pre>
 *
 * <p>Big-endian, but for the elements. A file is read into private memory and checked there before
 * a byte of it is looked at, so that nobody can change it in between.
 *
 * @param engine gives the engine at each use; null if there is none
 */
record StateFiles(Supplier<CacheEngine> engine) {
  private static final byte[] MAGIC = "THALSTAT".getBytes(StandardCharsets.US_ASCII);
  private static final int VERSION = 1;
  private static final String PURPOSE = "state of a memory";
  private static final int CODE = 32;

  /** The most bytes of everything but the elements: a longer file is not one of these. */
  private static final int FRAME = 4096;

  /** The most bytes of a file: contents of a memory with open dimensions may have any size. */
  private static final long LARGEST = Integer.MAX_VALUE;

  /** The contents of a file. */
  record Contents(MemorySegment bytes, Shape shape) {}

  /** Writes contents, of an operand whose size is known. */
  void write(Path file, String name, Operand operand, MemorySegment contents)
      throws NeuralNetworksException {
    byte[] header = header(operand);
    long length = header.length + contents.byteSize() + CODE;
    if (length > LARGEST) {
      throw failed(name, file, "cannot be saved in", "a file has at most 2 GiB", null);
    }
    byte[] body = Arrays.copyOf(header, (int) (header.length + contents.byteSize()));
    MemorySegment.copy(
        contents, ValueLayout.JAVA_BYTE, 0, body, header.length, (int) contents.byteSize());
    try {
      Path whole = file.toAbsolutePath();
      AtomicFiles.replacePrivately(whole, body, code(MemorySegment.ofArray(body)));
    } catch (IOException e) {
      throw failed(name, file, "cannot be saved in", e.toString(), e);
    }
  }

  private byte[] code(MemorySegment body) throws IOException {
    CacheEngine present = engine.get();
    if (present == null) {
      throw new IOException("there is no caching engine, which would vouch for it");
    }
    return present.authenticate(PURPOSE, body);
  }

  private static byte[] header(Operand operand) {
    byte[] type = type(operand);
    int rank = operand.shape().rank();
    ByteBuffer out =
        ByteBuffer.allocate(MAGIC.length + (3 + rank) * Integer.BYTES + type.length)
            .put(MAGIC)
            .putInt(VERSION)
            .putInt(type.length)
            .put(type)
            .putInt(rank);
    for (int i = 0; i < rank; i++) {
      out.putInt(operand.shape().dimension(i));
    }
    return out.array();
  }

  private static byte[] type(Operand operand) {
    String text = operand.type().text() + " " + operand.quantization();
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Reads contents.
   *
   * @param operand what they must fit, with dimensions as far as they are known
   * @param arena of the contents
   */
  Contents read(Path file, String name, Operand operand, Arena arena)
      throws NeuralNetworksException {
    MemorySegment bytes;
    boolean isGenuine;
    try (FileChannel channel = FileChannel.open(file)) {
      long most = operand.isSizeKnown() ? operand.byteSize() + FRAME : LARGEST;
      long size = channel.size();
      if (size < CODE || size > most) {
        throw refused(name, file, "it has %,d bytes".formatted(size));
      }
      bytes = arena.allocate(size);
      ByteBuffer into = bytes.asByteBuffer();
      while (into.hasRemaining() && channel.read(into) >= 0) {
        // A file that became shorter meanwhile has another code.
      }
      byte[] code = bytes.asSlice(size - CODE).toArray(ValueLayout.JAVA_BYTE);
      isGenuine = MessageDigest.isEqual(code, code(bytes.asSlice(0, size - CODE)));
    } catch (NoSuchFileException e) {
      throw failed(name, file, "cannot be restored from", "there is no such file", e);
    } catch (IOException e) {
      throw failed(name, file, "cannot be restored from", e.toString(), e);
    }
    if (!isGenuine) {
      throw refused(
          name, file, "it was changed, or saved by another user or in another storage directory");
    }
    return parse(bytes.asSlice(0, bytes.byteSize() - CODE), file, name, operand);
  }

  private static Contents parse(MemorySegment bytes, Path file, String name, Operand operand)
      throws NeuralNetworksException {
    ByteBuffer in = bytes.asByteBuffer();
    try {
      byte[] magic = new byte[MAGIC.length];
      in.get(magic);
      if (!Arrays.equals(magic, MAGIC) || in.getInt() != VERSION) {
        throw refused(name, file, "another version has written it");
      }
      byte[] type = new byte[in.getInt()];
      in.get(type);
      if (!Arrays.equals(type, type(operand))) {
        throw refused(
            name, file, "it holds a value of " + new String(type, StandardCharsets.UTF_8));
      }
      int[] dimensions = new int[in.getInt()];
      for (int i = 0; i < dimensions.length; i++) {
        dimensions[i] = in.getInt();
      }
      Shape shape = Shape.of(dimensions);
      if (operand.shape().combine(shape).isEmpty()) {
        throw refused(name, file, "it holds a value of dimensions " + shape);
      }
      return new Contents(bytes.asSlice(in.position()), shape);
    } catch (BufferUnderflowException e) {
      throw refused(name, file, "another version has written it");
    }
  }

  private static NeuralNetworksException refused(String name, Path file, String why) {
    return NeuralNetworksException.badData(
        "memory '%s' cannot be restored from %s: %s".formatted(name, file, why));
  }

  private static NeuralNetworksException failed(
      String name, Path file, String what, String why, Throwable cause) {
    return new NeuralNetworksException(
        ResultCode.OP_FAILED, "memory '%s' %s %s: %s".formatted(name, what, file, why), cause);
  }
}
