// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import io.thalamus.x86.compile.Constants;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.compile.Program.Range;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A compiled model as it stands in the cache: the data cache holds the constants, the model cache
 * all else, the code last. Immutable; arrays are not copied. The code has no addresses in it, so
 * that it runs wherever it is put.
 *
 * <p>Whoever reads it has been told by the caching engine that the device wrote these bytes.
 *
 * @param arguments the graph of inputs and outputs alone
 * @param settings SHA-256 of the device's version and of what of the processor the code uses
 */
record CachedProgram(Model arguments, Program program, byte[] settings) {
  private static final int MAGIC = 'T' | 'X' << 8 | '8' << 16 | '6' << 24;

  /** Changes with the layout of the file. */
  private static final int VERSION = 2;

  private static final int SETTINGS = 32;
  private static final int FIXED = 2 * Integer.BYTES + SETTINGS;

  /** Stands for a range that nothing reads. */
  private static final long UNUSED = -1;

  /** As files. */
  CacheContents write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(MAGIC);
      out.writeInt(VERSION);
      out.write(settings);
      write(out);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    return new CacheContents(List.of(bytes.toByteArray()), List.of(program.constants().toArray()));
  }

  private void write(DataOutputStream out) throws IOException {
    Subgraph graph = arguments.main();
    out.writeInt(graph.inputIndexes().size());
    out.writeInt(graph.outputIndexes().size());
    for (int number : new CachedArguments(arguments, program.shapes()).numbers()) {
      out.writeInt(number);
    }
    for (Range[] ranges : new Range[][] {program.inputs(), program.outputs()}) {
      for (Range range : ranges) {
        out.writeLong(range == null ? UNUSED : range.offset());
        out.writeLong(range == null ? UNUSED : range.bytes());
      }
    }
    out.writeLong(program.memory());
    out.writeInt(program.copied().size());
    for (Copied one : program.copied()) {
      out.writeLong(one.from());
      out.writeLong(one.to().offset());
      out.writeLong(one.to().bytes());
    }
    out.writeInt(program.groups().size());
    for (Group group : program.groups()) {
      out.writeInt(group.end());
      out.writeBoolean(group.isShared());
    }
    out.writeInt(program.calls().length);
    for (long number : program.calls()) {
      out.writeLong(number);
    }
    out.writeInt(program.code().length);
    out.write(program.code());
  }

  /**
   * Returns what stands in files that the device wrote itself, and that are untouched.
   *
   * @param settings that the code must have been written under
   * @throws IOException where another version of the device wrote them, or for another processor
   */
  static CachedProgram read(CacheContents contents, byte[] settings) throws IOException {
    ByteBuffer in = ByteBuffer.wrap(contents.modelCache().getFirst());
    if (in.remaining() < FIXED || in.getInt() != MAGIC || in.getInt() != VERSION) {
      throw new IOException("the cache has the format of another version");
    }
    if (!Arrays.equals(bytes(in, SETTINGS), settings)) {
      throw new IOException("the cache was made by another version, or for another processor");
    }
    return read(in, contents.dataCache().getFirst(), settings);
  }

  private static byte[] bytes(ByteBuffer in, int count) {
    byte[] bytes = new byte[count];
    in.get(bytes);
    return bytes;
  }

  private static CachedProgram read(ByteBuffer in, byte[] constants, byte[] settings) {
    int inputs = in.getInt();
    int outputs = in.getInt();
    CachedArguments arguments = CachedArguments.read(inputs, outputs, in::getInt);
    Range[] from = ranges(in, inputs);
    Range[] to = ranges(in, outputs);
    final long memory = in.getLong();
    List<Copied> copied = new ArrayList<>();
    for (int left = in.getInt(); left > 0; left--) {
      copied.add(new Copied(in.getLong(), new Range(in.getLong(), in.getLong())));
    }
    List<Group> groups = new ArrayList<>();
    for (int left = in.getInt(); left > 0; left--) {
      groups.add(new Group(in.getInt(), in.get() != 0));
    }
    long[] calls = new long[in.getInt()];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = in.getLong();
    }
    byte[] code = bytes(in, in.getInt());
    Program program =
        new Program(
            code,
            Constants.of(constants),
            calls,
            List.of(),
            List.copyOf(groups),
            memory,
            List.copyOf(copied),
            from,
            to,
            arguments.shapes());
    return new CachedProgram(arguments.model(), program, settings);
  }

  private static Range[] ranges(ByteBuffer in, int count) {
    Range[] ranges = new Range[count];
    for (int i = 0; i < count; i++) {
      long offset = in.getLong();
      long bytes = in.getLong();
      ranges[i] = offset == UNUSED ? null : new Range(offset, bytes);
    }
    return ranges;
  }
}
