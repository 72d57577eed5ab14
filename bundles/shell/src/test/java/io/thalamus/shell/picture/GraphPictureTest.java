// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class GraphPictureTest {
  /** Operations that each read one or two values made before, some of them long before. */
  private static Subgraph random(Random random, int operations, String name) {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    List<Integer> values = new ArrayList<>();
    values.add(builder.input(name, type, Shape.of(1, 8), Quantization.NONE));
    for (int i = 0; i < operations; i++) {
      int a = values.get(Math.max(0, values.size() - 1 - random.nextInt(4)));
      int b = values.get(random.nextInt(values.size()));
      boolean last = i == operations - 1;
      int out =
          last
              ? builder.output(name, type, Shape.of(1, 8), Quantization.NONE)
              : builder.temporary(name + i, type, Shape.of(1, 8), Quantization.NONE);
      if (random.nextInt(4) == 0) {
        builder.operation(OperationCode.ADD, List.of(a, b), List.of(out));
      } else {
        builder.operation(OperationCode.RELU, List.of(a), List.of(out));
      }
      values.add(out);
    }
    return builder.build();
  }

  private static Document parse(String svg) throws Exception {
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
  }

  @RepeatedTest(5)
  void nodesNeverOverlapAndEdgesLeadForward(RepetitionInfo repetition) {
    long seed = Long.getLong("thalamus.seed", 1) + repetition.getCurrentRepetition();
    System.out.println("seed " + seed);
    Random random = new Random(seed);
    Graph graph = Graph.of(random(random, 1 + random.nextInt(120), "x"));
    Layout layout = new Layout(graph);
    for (int i = 0; i < graph.nodes().size(); i++) {
      Layout.Place a = layout.node(i);
      assertTrue(a.x() - Layout.NODE_WIDTH / 2 >= -1e-6, "seed " + seed);
      assertTrue(a.x() + Layout.NODE_WIDTH / 2 <= layout.width() + 1e-6, "seed " + seed);
      assertTrue(a.y() >= 0 && a.y() + Layout.NODE_HEIGHT <= layout.height() + 1e-6);
      for (int j = 0; j < i; j++) {
        Layout.Place b = layout.node(j);
        boolean apart =
            Math.abs(a.x() - b.x()) >= Layout.NODE_WIDTH - 1e-6
                || Math.abs(a.y() - b.y()) >= Layout.NODE_HEIGHT;
        assertTrue(apart, "seed " + seed + ", nodes " + i + " and " + j);
      }
    }
    for (int i = 0; i < graph.edges().size(); i++) {
      List<Layout.Place> path = layout.edge(i);
      for (int k = 1; k < path.size(); k++) {
        assertEquals(path.get(k - 1).layer() + 1, path.get(k).layer(), "seed " + seed);
      }
    }
  }

  @Test
  void everyNodeIsDrawnAndNamesAreEscaped() throws Exception {
    Subgraph graph = random(new Random(3), 9, "a<b>&\"c\"\u0001");
    Document picture = parse(GraphPicture.ofFamilies(graph, "<title> & more", "9 operations"));
    NodeList titles = picture.getElementsByTagName("title");
    assertEquals("<title> & more", titles.item(0).getTextContent());
    assertEquals(1 + 9 + 2, titles.getLength());
    assertTrue(titles.item(1).getTextContent().startsWith("a<b>&\"c\"?"));
  }

  @Test
  void linesBetweenDevicesSayTheirBytes() throws Exception {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int in = builder.input("in", type, Shape.of(1, 8), Quantization.NONE);
    int mid = builder.temporary("mid", type, Shape.of(1, 1000), Quantization.NONE);
    int out = builder.output("out", type, Shape.of(1, 8), Quantization.NONE);
    builder.operation(OperationCode.RELU, List.of(in), List.of(mid));
    builder.operation(OperationCode.RELU, List.of(mid), List.of(out));
    Map<Integer, String> devices = new HashMap<>(Map.of(0, "simd", 1, "cpu"));
    String crossing = GraphPicture.ofDevices(builder.build(), "t", "s", devices, Map.of());
    assertTrue(texts(parse(crossing)).contains("3.9 KiB"), crossing);
    assertTrue(texts(parse(crossing)).contains("simd  1"), crossing);
    devices.put(0, "cpu");
    String whole = GraphPicture.ofDevices(builder.build(), "t", "s", devices, Map.of());
    assertEquals(false, whole.contains("KiB"));
  }

  @Test
  void anEmptyGraphIsAPictureToo() throws Exception {
    Document picture = parse(GraphPicture.ofFamilies(new SubgraphBuilder().build(), "t", "s"));
    assertEquals("svg", picture.getDocumentElement().getTagName());
  }

  @Test
  void aLongChainIsWrappedIntoColumns() throws Exception {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int value = builder.input("in", type, Shape.of(1, 8), Quantization.NONE);
    for (int i = 0; i < 99; i++) {
      int next = builder.temporary("", type, Shape.of(1, 8), Quantization.NONE);
      builder.operation(OperationCode.RELU, List.of(value), List.of(next));
      value = next;
    }
    Element svg = parse(GraphPicture.ofFamilies(builder.build(), "t", "s")).getDocumentElement();
    double ratio =
        Double.parseDouble(svg.getAttribute("width"))
            / Double.parseDouble(svg.getAttribute("height"));
    assertTrue(ratio > 1 && ratio < 2.2, "ratio " + ratio);
  }

  private static List<String> texts(Document picture) {
    NodeList texts = picture.getElementsByTagName("text");
    List<String> all = new ArrayList<>();
    for (int i = 0; i < texts.getLength(); i++) {
      all.add(texts.item(i).getTextContent());
    }
    return all;
  }
}
