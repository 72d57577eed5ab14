// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.npu.command.Command.Barrier;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.End;
import io.thalamus.npu.command.Command.Factor;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Store;
import io.thalamus.npu.command.Command.Window;
import io.thalamus.npu.command.Executable.Memories;
import io.thalamus.npu.command.Executable.Place;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ExecutableFormatTest {
  private static final Window WINDOW =
      new Window(
          3, 5, 7, 9, 11, new Size(13, 15), new Size(17, 19), new Size(21, 23), new Size(25, 27));

  /** One of each kind, all words different. */
  private static final List<Command> ALL =
      List.of(
          new Barrier(1),
          new Load(0, 2, 3, new Block(4, 5, 6, 7, 8), 9, 10),
          new LoadPacked(1, 2, 3, 4),
          new Store(1, 2, new Block(3, 4, 5, 6, 7), 8, 9),
          new Fill(1, new Block(2, 3, 4, 5, 6), 7),
          new MatMul(WINDOW, 1, 2, 4, 6, 8),
          new Depthwise(WINDOW, 1, 2, 4, 6, 8),
          new Requantize(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
          new Pool(WINDOW, new Size(1, 2), 4, 6, 8, 10, 12),
          new Elementwise(
              1,
              2,
              3,
              4,
              5,
              6,
              7,
              8,
              9,
              10,
              11,
              12,
              13,
              new Factor(14, 15),
              new Factor(16, 17),
              new Factor(18, 19),
              20,
              21,
              22),
          new Lookup(1, 2, 3, 4),
          new Softmax(1, 2, 3, 4, 5, 6, 7),
          new End());

  private static final Executable EXECUTABLE =
      new Executable(
          new Memories(100, 200, 300),
          16,
          List.of(new Place(1, 2, 3)),
          List.of(new Place(1, 4, 5), new Place(0, 6, 7)),
          ALL,
          new byte[] {1, 2, 3, 4, 5});

  @Test
  void everyKindComesBackAsItWas() throws CommandFormatException {
    byte[] file = ExecutableFormat.write(EXECUTABLE);
    Executable read = ExecutableFormat.read(file);
    assertEquals(EXECUTABLE.memories(), read.memories());
    assertEquals(EXECUTABLE.arrayColumns(), read.arrayColumns());
    assertEquals(EXECUTABLE.inputs(), read.inputs());
    assertEquals(EXECUTABLE.outputs(), read.outputs());
    assertEquals(ALL, read.commands());
    assertArrayEquals(EXECUTABLE.weights(), read.weights());
    assertArrayEquals(file, ExecutableFormat.write(read));
    assertEquals(
        Opcode.values().length,
        ALL.stream().map(Command::opcode).distinct().count(),
        "a kind is missing in this test");
  }

  @Test
  void theTextNamesEachWordOnce() {
    for (Command command : ALL) {
      String[] parts = Disassembler.text(command).split(" ");
      Set<String> names = new HashSet<>();
      for (int i = 1; i < parts.length; i++) {
        assertTrue(names.add(parts[i].split("=")[0]), parts[i]);
      }
      assertEquals(command.words().length, names.size());
    }
    assertEquals(
        "LOAD space=0 from=2 to=3 run=4 rows=5 fromRow=6 toRow=9 planes=7 fromPlane=8 toPlane=10",
        Disassembler.text(ALL.get(1)));
    assertEquals(
        "POOL flags=3 input=5 inputRow=7 inputPixel=9 channels=11 kernelHeight=13 kernelWidth=15"
            + " dilationHeight=17 dilationWidth=19 strideHeight=21 strideWidth=23 height=25"
            + " width=27 inputHeight=1 inputWidth=2 top=4 left=6 to=8 min=10 max=12",
        Disassembler.text(ALL.get(8)));
  }

  @Test
  void noBitCanChangeUnseen() {
    byte[] file = ExecutableFormat.write(EXECUTABLE);
    for (int bit = 0; bit < 8 * file.length; bit++) {
      byte[] damaged = file.clone();
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      assertThrows(CommandFormatException.class, () -> ExecutableFormat.read(damaged));
    }
    for (int length = 0; length < file.length; length++) {
      byte[] cut = Arrays.copyOf(file, length);
      assertThrows(CommandFormatException.class, () -> ExecutableFormat.read(cut));
    }
    byte[] longer = Arrays.copyOf(file, file.length + 1);
    assertThrows(CommandFormatException.class, () -> ExecutableFormat.read(longer));
  }
}
