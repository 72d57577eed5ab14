// SPDX-License-Identifier: Apache-2.0
/** Memory domains: memories that applications declare the use of, and where their contents are. */
package io.thalamus.runtime.domain;
