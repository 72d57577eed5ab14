// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/** The ways to read files that tests make, and to run them. */
final class TestFiles {
  private TestFiles() {}

  /** Reads a file; its memory stays open until the process ends. */
  static Model read(byte[] file) throws ModelFormatException {
    return read(file, Map.of());
  }

  /** The same, with dimensions for inputs. */
  static Model read(byte[] file, Map<String, Shape> shapes) throws ModelFormatException {
    return readFile(file, shapes).model();
  }

  /** The same, with what else is known of the file. */
  static ModelFile readFile(byte[] file, Map<String, Shape> shapes) throws ModelFormatException {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, Math.max(1, file.length));
    memory.segment().copyFrom(MemorySegment.ofArray(file));
    return new OnnxReader().read(memory, ReadOptions.DEFAULT.withShapes(shapes));
  }

  /** Returns the only output of the reference device for these numbers as the only input. */
  static float[] run(OnnxFileBuilder file, float... input)
      throws ModelFormatException, DeviceException {
    Model model = read(file.build());
    return TestGraph.floats(TestGraph.run(new CpuDevice("1.0.0"), model, TestGraph.bytes(input)));
  }
}
