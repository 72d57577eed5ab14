// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.npu.command.CommandFormatException;
import io.thalamus.npu.command.ExecutableFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;

/**
 * A compiled model as it stands in the cache. Immutable; the file's bytes are not copied.
 *
 * <p>The data cache holds the weights. The model cache holds all else; numbers have 32 bits,
 * little-endian:
 *
 * <pre>
 * offset  0   magic "TNPC"
 *         4   version, 1
 *         8   bytes of this header, arguments and shapes included
 *        12   1 for a program that a better one was to replace, 2 for the last one
 *        16   execution preference
 *        20   seconds since 1970, low and high word
 *        28   inputs | outputs
 *        36   SHA-256 of the device's version and settings
 *        68   the numbers of {@link CachedArguments}
 *             the compiled model's file up to its weights
 * </pre>
 *
 * @param arguments the graph of inputs and outputs alone
 * @param shapes of the results
 * @param preference that it was compiled for
 * @param isFinal whether no better one was to come
 * @param made when it was compiled
 * @param settings SHA-256 of the device's version and settings
 * @param file of the compiled model
 */
record CachedProgram(
    Model arguments,
    List<Shape> shapes,
    ExecutionPreference preference,
    boolean isFinal,
    Instant made,
    byte[] settings,
    byte[] file) {
  private static final int MAGIC = 'T' | 'N' << 8 | 'P' << 16 | 'C' << 24;
  private static final int VERSION = 1;
  private static final int FIXED = 68;
  private static final int SETTINGS_AT = 36;
  private static final int SETTINGS = 32;

  CachedProgram {
    shapes = List.copyOf(shapes);
  }

  /** As files. */
  CacheContents write() {
    Subgraph graph = arguments.main();
    int[] described = new CachedArguments(arguments, shapes).numbers();
    int header = FIXED + described.length * Integer.BYTES;
    int weights = ExecutableFormat.weightsOffset(file);
    ByteBuffer model = ByteBuffer.allocate(header + weights).order(ByteOrder.LITTLE_ENDIAN);
    model.putInt(MAGIC).putInt(VERSION).putInt(header).putInt(isFinal ? 2 : 1);
    model.putInt(preference.code()).putLong(made.getEpochSecond());
    model.putInt(graph.inputIndexes().size()).putInt(graph.outputIndexes().size());
    model.put(settings);
    Arrays.stream(described).forEach(model::putInt);
    model.put(file, 0, weights);
    return new CacheContents(
        List.of(model.array()), List.of(MemorySegment.ofArray(file).asSlice(weights)));
  }

  /**
   * Returns the contents of files that the device wrote itself, and that are untouched.
   *
   * @throws CommandFormatException where another version of the device did
   */
  static CachedProgram read(CacheContents contents) throws CommandFormatException {
    byte[] model = contents.modelCache().getFirst();
    MemorySegment weights = contents.dataCache().getFirst();
    ByteBuffer words = ByteBuffer.wrap(model).order(ByteOrder.LITTLE_ENDIAN);
    if (model.length < FIXED || words.getInt() != MAGIC || words.getInt() != VERSION) {
      throw new CommandFormatException("the cache has the format of another version");
    }
    int header = words.getInt();
    boolean isFinal = words.getInt() == 2;
    int preference = words.getInt();
    Instant made = Instant.ofEpochSecond(words.getLong());
    int inputs = words.getInt();
    int outputs = words.getInt();
    byte[] settings = Arrays.copyOfRange(model, SETTINGS_AT, SETTINGS_AT + SETTINGS);
    words.position(FIXED);
    CachedArguments arguments = CachedArguments.read(inputs, outputs, words::getInt);
    int commands = model.length - header;
    byte[] file = Arrays.copyOfRange(model, header, model.length + (int) weights.byteSize());
    MemorySegment.copy(weights, ValueLayout.JAVA_BYTE, 0, file, commands, (int) weights.byteSize());
    return new CachedProgram(
        arguments.model(),
        arguments.shapes(),
        ExecutionPreference.ofCode(preference).orElseThrow(),
        isFinal,
        made,
        settings,
        file);
  }
}
