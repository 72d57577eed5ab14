// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import io.thalamus.model.wire.WireFormatException;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A whole graph as it stands in a cache, for devices whose programs are made of the graph again:
 * the structure belongs into the model cache, the values of constants into the data cache, where
 * they follow each other. Names are not kept. Stateless.
 *
 * <p>{@link #read} takes bytes that the caching engine vouches for, and checks nothing.
 */
public final class CachedGraph {
  private CachedGraph() {}

  /** Returns true if the graph refers to no others. */
  public static boolean isPossible(Subgraph graph) {
    return graph.operands().stream()
        .noneMatch(operand -> operand.lifetime() instanceof SubgraphReference);
  }

  /**
   * Writes a graph.
   *
   * @param omitted operands whose values the device keeps in another form: they are constants of no
   *     bytes when the graph is read
   * @param structure gets all but the values
   * @param values gets the values
   */
  public static void write(
      Subgraph graph, Set<Integer> omitted, Encoder structure, ByteArrayOutputStream values) {
    List<Operand> operands = new ArrayList<>();
    for (int i = 0; i < graph.operands().size(); i++) {
      Operand one = graph.operands().get(i);
      Lifetime lifetime = omitted.contains(i) ? new ConstantCopy(new byte[0]) : one.lifetime();
      operands.add(new Operand(one.type(), one.shape(), one.quantization(), lifetime, ""));
    }
    GraphCodec.write(
        structure,
        new Subgraph(operands, graph.operations(), graph.inputIndexes(), graph.outputIndexes()),
        (out, constant) -> {
          byte[] bytes = constant.bytes().toArray(ValueLayout.JAVA_BYTE);
          out.int32(bytes.length);
          values.writeBytes(bytes);
        });
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @param structure positioned at the graph, and behind it afterwards
   * @param values positioned at the first value, and behind the last afterwards
   */
  public static Subgraph read(Decoder structure, ByteBuffer values) throws WireFormatException {
    return GraphCodec.read(
        structure,
        in -> {
          byte[] bytes = new byte[in.int32()];
          values.get(bytes);
          return new ConstantCopy(bytes);
        });
  }
}
