// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.vectors.SuiteReport.Result;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** Writes a report in the XML that build servers read as JUnit's. */
final class JUnitXml {
  private final XMLStreamWriter xml;

  private JUnitXml(XMLStreamWriter xml) {
    this.xml = xml;
  }

  static void write(SuiteReport report, Path file) throws IOException {
    try (Writer out = Files.newBufferedWriter(file)) {
      XMLStreamWriter xml = XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(out);
      new JUnitXml(xml).report(report);
      xml.close();
    } catch (XMLStreamException e) {
      throw new IOException("cannot write " + file + ": " + e.getMessage(), e);
    }
  }

  private void report(SuiteReport report) throws XMLStreamException {
    xml.writeStartDocument("UTF-8", "1.0");
    xml.writeCharacters("\n");
    xml.writeStartElement("testsuites");
    counts(report.target(), report.results(), report.duration());
    Map<String, List<Result>> files = new TreeMap<>();
    for (Result result : report.results()) {
      files.computeIfAbsent(result.file(), file -> new ArrayList<>()).add(result);
    }
    for (Map.Entry<String, List<Result>> file : files.entrySet()) {
      suite(file.getKey(), file.getValue());
    }
    xml.writeCharacters("\n");
    xml.writeEndElement();
    xml.writeCharacters("\n");
    xml.writeEndDocument();
  }

  private void suite(String file, List<Result> results) throws XMLStreamException {
    xml.writeCharacters("\n ");
    xml.writeStartElement("testsuite");
    counts(
        file,
        results,
        results.stream().map(Result::duration).reduce(Duration.ZERO, Duration::plus));
    for (Result result : results) {
      test(result);
    }
    xml.writeCharacters("\n ");
    xml.writeEndElement();
  }

  private void counts(String name, List<Result> results, Duration duration)
      throws XMLStreamException {
    xml.writeAttribute("name", name);
    xml.writeAttribute("tests", Integer.toString(results.size()));
    xml.writeAttribute("failures", count(results, Outcome.Failed.class));
    xml.writeAttribute("errors", "0");
    xml.writeAttribute("skipped", count(results, Outcome.Skipped.class));
    xml.writeAttribute("time", seconds(duration));
  }

  private static String count(List<Result> results, Class<? extends Outcome> kind) {
    return Long.toString(
        results.stream().filter(result -> kind.isInstance(result.outcome())).count());
  }

  private static String seconds(Duration duration) {
    return String.format(Locale.ROOT, "%.6f", duration.toNanos() / 1e9);
  }

  private void test(Result result) throws XMLStreamException {
    xml.writeCharacters("\n  ");
    xml.writeStartElement("testcase");
    xml.writeAttribute("classname", result.file());
    xml.writeAttribute("name", result.example().isEmpty() ? "(file)" : result.example());
    xml.writeAttribute("time", seconds(result.duration()));
    switch (result.outcome()) {
      case Outcome.Passed _ -> {}
      case Outcome.Failed failed -> message("failure", failed.reason());
      case Outcome.Skipped skipped -> message("skipped", skipped.reason());
    }
    xml.writeEndElement();
  }

  private void message(String element, String reason) throws XMLStreamException {
    xml.writeStartElement(element);
    xml.writeAttribute("message", legal(reason));
    xml.writeEndElement();
  }

  /** XML 1.0 has no control characters, not even escaped. */
  private static String legal(String text) {
    return text.codePoints()
        .map(c -> c < ' ' && c != '\t' || c == 0xFFFE || c == 0xFFFF ? '?' : c)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }
}
