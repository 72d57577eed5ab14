// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import io.thalamus.npu.command.Executable.Memories;
import io.thalamus.npu.command.Executable.Place;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The file of an {@link Executable}. All numbers are 32 bits, little-endian.
 *
 * <pre>
 * offset  0   magic "TNPU"
 *         4   version, 1
 *         8   bytes of the whole file
 *        12   CRC-32C of all that follows
 *        16   scratchpad bytes | accumulators | tensor bytes | columns of the array
 *        32   inputs | outputs | words of commands | bytes of weights
 *        48   inputs and outputs: space, address, bytes each
 *             commands
 *             weights, up to the end
 * </pre>
 */
public final class ExecutableFormat {
  static final int MAGIC = 'T' | 'N' << 8 | 'P' << 16 | 'U' << 24;
  static final int VERSION = 1;
  private static final int HEADER = 48;
  private static final int CHECKED = 16;
  private static final int PLACE = 3 * Integer.BYTES;

  private ExecutableFormat() {}

  /** The file's bytes. */
  public static byte[] write(Executable executable) {
    int places = executable.inputs().size() + executable.outputs().size();
    int words = executable.commands().stream().mapToInt(CommandStream::size).sum();
    int size = HEADER + places * PLACE + words * Integer.BYTES + executable.weights().length;
    ByteBuffer file = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    file.putInt(MAGIC).putInt(VERSION).putInt(size).putInt(0);
    Memories memories = executable.memories();
    file.putInt(memories.scratchpad()).putInt(memories.accumulators()).putInt(memories.tensors());
    file.putInt(executable.arrayColumns());
    file.putInt(executable.inputs().size()).putInt(executable.outputs().size());
    file.putInt(words).putInt(executable.weights().length);
    write(executable.inputs(), file);
    write(executable.outputs(), file);
    IntBuffer stream = file.asIntBuffer();
    executable.commands().forEach(command -> CommandStream.write(command, stream));
    file.position(file.position() + words * Integer.BYTES).put(executable.weights());
    file.putInt(CHECKED - Integer.BYTES, checksum(file.array()));
    return file.array();
  }

  private static void write(List<Place> places, ByteBuffer file) {
    places.forEach(
        place -> file.putInt(place.space()).putInt(place.address()).putInt(place.bytes()));
  }

  /**
   * The executable in a file.
   *
   * @throws CommandFormatException where the bytes are not such a file, or a damaged one
   */
  public static Executable read(byte[] bytes) throws CommandFormatException {
    if (bytes.length < HEADER) {
      throw new CommandFormatException(
          "a compiled model has at least " + HEADER + " bytes, this has " + bytes.length);
    }
    ByteBuffer file = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    check("the first word is not \"TNPU\"", file.getInt() == MAGIC);
    int version = file.getInt();
    check("the version is " + version + ", not " + VERSION, version == VERSION);
    int size = file.getInt();
    check(
        "the header tells of " + size + " bytes, there are " + bytes.length, size == bytes.length);
    check("the checksum is not that of the bytes", file.getInt() == checksum(bytes));
    Memories memories = new Memories(file.getInt(), file.getInt(), file.getInt());
    check(
        "a memory has a negative size",
        memories.scratchpad() >= 0 && memories.accumulators() >= 0 && memories.tensors() >= 0);
    int columns = file.getInt();
    check("the array has " + columns + " columns", columns > 0);
    long inputs = Integer.toUnsignedLong(file.getInt());
    long outputs = Integer.toUnsignedLong(file.getInt());
    long words = Integer.toUnsignedLong(file.getInt());
    long weights = Integer.toUnsignedLong(file.getInt());
    long needed = HEADER + (inputs + outputs) * PLACE + words * Integer.BYTES + weights;
    check("its parts take " + needed + " bytes, there are " + bytes.length, needed == bytes.length);
    List<Place> ins = places(file, (int) inputs);
    List<Place> outs = places(file, (int) outputs);
    IntBuffer stream = file.asIntBuffer().limit((int) words);
    List<Command> commands = CommandStream.read(stream);
    file.position(file.position() + (int) words * Integer.BYTES);
    byte[] image = new byte[(int) weights];
    file.get(image);
    return new Executable(memories, columns, ins, outs, commands, image);
  }

  private static List<Place> places(ByteBuffer file, int count) {
    List<Place> places = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      places.add(new Place(file.getInt(), file.getInt(), file.getInt()));
    }
    return places;
  }

  /** Returns the begin of the weights in a file of {@link #write}; they go up to its end. */
  public static int weightsOffset(byte[] file) {
    ByteBuffer words = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    return file.length - words.getInt(HEADER - Integer.BYTES);
  }

  /** The checksum that the header of these bytes must have. */
  static int checksum(byte[] file) {
    CRC32C crc = new CRC32C();
    crc.update(file, CHECKED, file.length - CHECKED);
    return (int) crc.getValue();
  }

  private static void check(String otherwise, boolean holds) throws CommandFormatException {
    if (!holds) {
      throw new CommandFormatException("not a compiled model: " + otherwise);
    }
  }
}
