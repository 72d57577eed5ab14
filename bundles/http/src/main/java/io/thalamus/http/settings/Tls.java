// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.settings;

import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.UnrecoverableKeyException;
import java.security.cert.X509Certificate;
import java.util.Optional;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManagerFactory;

/** TLS by the JDK's provider, with keys from PKCS12 files. */
public final class Tls {
  private Tls() {}

  /** Returns the context of the settings; empty without a key store. */
  public static Optional<SslContext> of(HttpSettings settings)
      throws IOException, GeneralSecurityException {
    Optional<SslContextBuilder> builder = builder(settings);
    return builder.isPresent() ? Optional.of(builder.get().build()) : Optional.empty();
  }

  /** Returns a context of the settings to which a protocol adds its own; empty without a store. */
  public static Optional<SslContextBuilder> builder(HttpSettings settings)
      throws IOException, GeneralSecurityException {
    if (settings.keyStore().isEmpty()) {
      if (settings.clientCertificates() || !settings.trustStore().isEmpty()) {
        throw new IOException("certificates of clients need TLS: keyStore is not set");
      }
      return Optional.empty();
    }
    char[] password = password("keyStorePassword", settings.keyStorePassword());
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store("keyStore", settings.keyStore(), password), password);
    SslContextBuilder builder =
        SslContextBuilder.forServer(keys)
            .sslProvider(SslProvider.JDK)
            .protocols("TLSv1.3", "TLSv1.2");
    if (!settings.trustStore().isEmpty()) {
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      char[] trustPassword = password("trustStorePassword", settings.trustStorePassword());
      trust.init(store("trustStore", settings.trustStore(), trustPassword));
      builder.trustManager(trust);
      builder.clientAuth(settings.clientCertificates() ? ClientAuth.REQUIRE : ClientAuth.OPTIONAL);
    } else if (settings.clientCertificates()) {
      throw new IOException("clientCertificates needs trustStore, a PKCS12 file with authorities");
    }
    return Optional.of(builder);
  }

  private static KeyStore store(String setting, String file, char[] password)
      throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    byte[] bytes = read(setting, file);
    try {
      store.load(new ByteArrayInputStream(bytes), password);
    } catch (IOException e) {
      String problem =
          e.getCause() instanceof UnrecoverableKeyException
              ? "has another password than that of " + setting + "Password"
              : "is no PKCS12 file, or is damaged";
      throw new IOException(setting + ": " + file + " " + problem, e);
    }
    return store;
  }

  private static char[] password(String setting, String value) throws IOException {
    return value.startsWith("file:")
        ? new String(read(setting, value.substring(5)), StandardCharsets.UTF_8)
            .strip()
            .toCharArray()
        : value.toCharArray();
  }

  private static byte[] read(String setting, String file) throws IOException {
    try {
      return Files.readAllBytes(Path.of(file));
    } catch (IOException e) {
      String problem = e instanceof NoSuchFileException ? "there is no file " : "cannot read ";
      throw new IOException(setting + ": " + problem + file, e);
    }
  }

  /** Returns the common name in the client's certificate; empty without one. */
  public static Optional<String> subject(SSLSession session) {
    try {
      X509Certificate certificate = (X509Certificate) session.getPeerCertificates()[0];
      return new LdapName(certificate.getSubjectX500Principal().getName())
          .getRdns().stream()
              .filter(each -> each.getType().equalsIgnoreCase("CN"))
              .map(each -> String.valueOf(each.getValue()))
              .findFirst();
    } catch (SSLPeerUnverifiedException | InvalidNameException noName) {
      return Optional.empty();
    }
  }
}
