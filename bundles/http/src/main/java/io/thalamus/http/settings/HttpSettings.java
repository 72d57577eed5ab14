// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.settings;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.AttributeType;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The configuration of the server, without which it does not start. A change restarts it. */
@ObjectClassDefinition(
    name = "Thalamus HTTP server",
    description = "Where it listens, what it takes, and who may do what")
@Retention(RetentionPolicy.RUNTIME)
public @interface HttpSettings {
  @AttributeDefinition(name = "Host", description = "Name or address of the interface to listen at")
  String host() default "127.0.0.1";

  @AttributeDefinition(
      name = "Port",
      description = "0 for any that is free",
      min = "0",
      max = "65535")
  int port() default 8000;

  @AttributeDefinition(
      name = "Header limit",
      description = "Bytes of all headers of a request",
      min = "256")
  int headerLimit() default 32 * 1024;

  @AttributeDefinition(
      name = "Body limit",
      description = "Bytes of a request's body; more is refused with 413 before it is read",
      min = "0",
      max = "2000000000")
  long bodyLimit() default 256L << 20;

  @AttributeDefinition(
      name = "Memory limit",
      description = "Bytes of all bodies that are held at a time; more is refused with 503",
      min = "0")
  long memoryLimit() default 1L << 30;

  @AttributeDefinition(
      name = "Connections",
      description =
          "Open connections; beyond, the one that is idle longest is closed for a new one",
      min = "1")
  int connections() default 4096;

  @AttributeDefinition(
      name = "Idle limit",
      description = "Milliseconds after which a connection without a request is closed",
      min = "1")
  long idleMillis() default 60_000;

  @AttributeDefinition(
      name = "Patience",
      description =
          "Milliseconds in which the headers must come, and in which a client that reads nothing"
              + " is dropped",
      min = "1")
  long patienceMillis() default 10_000;

  @AttributeDefinition(
      name = "Slowest sender",
      description = "Bytes of a body per second that must come on average, once patience is over",
      min = "0")
  long bytesPerSecond() default 16 * 1024;

  @AttributeDefinition(
      name = "Stop limit",
      description = "Milliseconds that requests may take to end when the server stops",
      min = "0")
  long stopMillis() default 10_000;

  @AttributeDefinition(
      name = "Tokens for reading",
      type = AttributeType.PASSWORD,
      description =
          "NAME:TOKEN, or subject:NAME for the common name in a client's certificate. A right is"
              + " everybody's if neither it nor a lesser one (read, infer, manage) has tokens")
  String[] readTokens() default {};

  @AttributeDefinition(
      name = "Tokens for inferences",
      type = AttributeType.PASSWORD,
      description = "As for reading, which is included")
  String[] inferTokens() default {};

  @AttributeDefinition(
      name = "Tokens for changes",
      type = AttributeType.PASSWORD,
      description = "As for reading; inferences are included")
  String[] manageTokens() default {};

  @AttributeDefinition(
      name = "Key store",
      description = "PKCS12 file with the key and certificate of the server; TLS is used if given")
  String keyStore() default "";

  @AttributeDefinition(
      name = "Key store's password",
      type = AttributeType.PASSWORD,
      description = "The password, or file:PATH of a file that has it")
  String keyStorePassword() default "";

  @AttributeDefinition(
      name = "Trust store",
      description = "PKCS12 file with certificates of clients or of their authorities")
  String trustStore() default "";

  @AttributeDefinition(
      name = "Trust store's password",
      type = AttributeType.PASSWORD,
      description = "The password, or file:PATH of a file that has it")
  String trustStorePassword() default "";

  @AttributeDefinition(
      name = "Client certificates",
      description = "Whether a client without a trusted certificate is refused")
  boolean clientCertificates() default false;
}
