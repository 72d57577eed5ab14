// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import io.thalamus.model.wire.WireFormatException;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Models as bytes. Larger constants stay where they are: the bytes name their memories by index. A
 * read model is as valid as the written one; a device checks it as ever. Stateless.
 */
public final class ModelCodec {
  private ModelCodec() {}

  /**
   * Writes a model.
   *
   * @param pools the memories of its constants, which {@link Model#pools()} gives
   */
  public static void write(Encoder out, Model model, List<SharedMemory> pools) {
    Map<SharedMemory, Integer> indexes = new IdentityHashMap<>();
    pools.forEach(pool -> indexes.put(pool, indexes.size()));
    BiConsumer<Encoder, Constant> constants = (to, constant) -> write(to, constant, indexes);
    out.bool(model.relaxComputationFloat32toFloat16());
    GraphCodec.write(out, model.main(), constants);
    out.list(model.referenced(), (to, graph) -> GraphCodec.write(to, graph, constants));
  }

  private static void write(Encoder out, Constant constant, Map<SharedMemory, Integer> pools) {
    switch (constant) {
      case ConstantCopy(byte[] value) -> out.bool(false).bytes(value);
      case ConstantReference(SharedMemory pool, long offset, long length) ->
          out.bool(true).int32(pools.get(pool)).int64(offset).int64(length);
    }
  }

  /**
   * Reads a model.
   *
   * @param pools the memories of its constants, in the order in which they were written
   */
  public static Model read(Decoder in, List<SharedMemory> pools) throws WireFormatException {
    boolean isRelaxed = in.bool();
    Decoder.Element<Constant> constants = from -> constant(from, pools);
    Subgraph main = GraphCodec.read(in, constants);
    return new Model(main, in.list(from -> GraphCodec.read(from, constants)), isRelaxed);
  }

  private static Constant constant(Decoder in, List<SharedMemory> pools)
      throws WireFormatException {
    return in.bool()
        ? new ConstantReference(pools.get(in.int32()), in.int64(), in.int64())
        : new ConstantCopy(in.bytes());
  }
}
