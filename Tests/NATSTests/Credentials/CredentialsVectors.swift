@testable import NATS

/// Keys, signatures and tokens made once by independent implementations (Python's nkeys and PyNaCl).
enum CredentialsVectors {
    struct Pair {
        let kind: NKey.Kind
        let seed: String
        let publicKey: String
        let signature: String
    }

    /// What every signature below signs.
    static let message: [UInt8] = Array("nonce-".utf8) + [0, 0xFF]

    static let pairs = [
        Pair(
            kind: .operator,
            seed: "SOAFJGWRG3GFAOFOGF7BIMM6D744LJHE67UFWDMPTFDBZEKLGXNTKAR2PE",
            publicKey: "OCRMGCJUB4VXCPPHUIV5RKOINYZO5FWKBVEOLCX3F3QMZY7EIK4TJC3F",
            signature: "iQMQ58xg_m-MNs1WBi-EO_uCj-5MXJ55a_5WYZGu1ChbY-LeRFrMEOtrKp0p6kDSyI44Z5J525JvtAEuNuUMAQ"
        ),
        Pair(
            kind: .account,
            seed: "SAAGMD4GK76XUQWCJDGXQAQ3WYAD4PRK4R2DMJ56DNUYRA3XU5NXRPPMOM",
            publicKey: "ABLC3R27ZUR4J3RCPWJIFZFAHQ7GQXXKKXVILZ37ADLULOYQBKKRE3F5",
            signature: "tCrk7RZ0SMnFwEJbltk5KXyyKnqjFwU7By39NAcKuejB91a2OWUHLuem3NcUcktJ5-01T6re3gx0eZCFXILcCA"
        ),
        Pair(
            kind: .user,
            seed: "SUAG4KM7UHSH5HX6B2MO6P45H4EZMQFQ444YRTAFDIJ3KUBITDJKICHC6Q",
            publicKey: "UBIRCXSBRMTYAE6PX6TK3HIM2Z5WBOLNOOYFRZ44YQQTK3MFVB4JEEWJ",
            signature: "FUp_P4WDgWkJqLUhIlVJ-xNzgeWPBq8KHTYFicljJvyL9tBN1BYt1whdELCvecct3ogZBF0TpGZRRoxA8BEpBQ"
        ),
        Pair(
            kind: .server,
            seed: "SNALTAZKY2RDL3NATJYPU6UJ2HGIOR3NEWLFEZ6T4VUFXTTSNQQOYLR6PA",
            publicKey: "NCZSU5FT3ZLJ56HERK4MNP5B6UZ4A3K5MQ3SLSNCNHA6B4STMTF6EKK5",
            signature: "0XL6oyqZfFKaPmzfzfda3Qgrh-oMYNGhvSNsuiAvO6NsjHAdxnxiraRRLITYEkY6L1R15W_n_aUFaW6HOExQCA"
        ),
        Pair(
            kind: .cluster,
            seed: "SCAN5R5ZOVBBJIRT653VVOW5DBVYEWOZCQKNDH2YZSZF6VLJENAJYW6VZQ",
            publicKey: "CCOX6XB7RDT2A7OXPKC52I3G4MHBOVHENZJRV4AHJPRFTQ3CBOLZW6EH",
            signature: "K3dopswha_FbM42c-ahb_iCkk7XLfaYI2Y38af5qByP9mUHAk7K8m_XrOLqhAx9T7xBCOPj7_7Dz6NkFKJcbAQ"
        ),
    ]

    static let user = pairs[2]
    static let account = pairs[1]

    /// A user of the account above: `chat.>` only, own inbox, bearer, ends in 2100.
    static let userToken = """
        eyJ0eXAiOiAiSldUIiwgImFsZyI6ICJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiAiWCIsICJpYXQiOiAxNzAwMDAwMDAwLCAiaXNzI\
        jogIkFCTEMzUjI3WlVSNEozUkNQV0pJRlpGQUhRN0dRWFhLS1hWSUxaMzdBRExVTE9ZUUJLS1JFM0Y1IiwgIm5hbWUiOiAiYWxpY\
        2UiLCAic3ViIjogIlVCSVJDWFNCUk1UWUFFNlBYNlRLM0hJTTJaNVdCT0xOT09ZRlJaNDRZUVFUSzNNRlZCNEpFRVdKIiwgImV4c\
        CI6IDQxMDI0NDQ4MDAsICJuYXRzIjogeyJwdWIiOiB7ImFsbG93IjogWyJjaGF0Lj4iXX0sICJzdWIiOiB7ImFsbG93IjogWyJja\
        GF0Lj4iLCAiX0lOQk9YX2FsaWNlLj4iXX0sICJyZXNwIjogeyJtYXgiOiAxLCAidHRsIjogMH0sICJzdWJzIjogLTEsICJkYXRhI\
        jogLTEsICJwYXlsb2FkIjogLTEsICJiZWFyZXJfdG9rZW4iOiB0cnVlLCAiYWxsb3dlZF9jb25uZWN0aW9uX3R5cGVzIjogWyJTV\
        EFOREFSRCJdLCAidHlwZSI6ICJ1c2VyIiwgInZlcnNpb24iOiAyfX0.wyt3wc0Kqro85iGwWpKMyDMgevlb8eApDlOTUldnZw7l-\
        9FVq3Bk14RMPoetMjyUwB7ZDaLmcGyjw9CqaiBPBQ
        """

    /// The account above, issued by the operator above, with a scoped signing key and revocations.
    static let accountToken = """
        eyJ0eXAiOiAiSldUIiwgImFsZyI6ICJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiAiWCIsICJpYXQiOiAxNzAwMDAwMDAwLCAiaXNzI\
        jogIk9DUk1HQ0pVQjRWWENQUEhVSVY1UktPSU5ZWk81RldLQlZFT0xDWDNGM1FNWlk3RUlLNFRKQzNGIiwgIm5hbWUiOiAiQVBQI\
        iwgInN1YiI6ICJBQkxDM1IyN1pVUjRKM1JDUFdKSUZaRkFIUTdHUVhYS0tYVklMWjM3QURMVUxPWVFCS0tSRTNGNSIsICJuYXRzI\
        jogeyJsaW1pdHMiOiB7InN1YnMiOiAtMSwgImRhdGEiOiAtMSwgInBheWxvYWQiOiAtMSwgImltcG9ydHMiOiAtMSwgImV4cG9yd\
        HMiOiAtMSwgIndpbGRjYXJkcyI6IHRydWUsICJjb25uIjogLTEsICJsZWFmIjogLTEsICJtZW1fc3RvcmFnZSI6IC0xLCAiZGlza\
        19zdG9yYWdlIjogLTF9LCAic2lnbmluZ19rZXlzIjogWyJBQkxDM1IyN1pVUjRKM1JDUFdKSUZaRkFIUTdHUVhYS0tYVklMWjM3Q\
        URMVUxPWVFCS0tSRTNGNSIsIHsia2luZCI6ICJ1c2VyX3Njb3BlIiwgImtleSI6ICJBQkxDM1IyN1pVUjRKM1JDUFdKSUZaRkFIU\
        TdHUVhYS0tYVklMWjM3QURMVUxPWVFCS0tSRTNGNSIsICJyb2xlIjogInJlYWRlciIsICJ0ZW1wbGF0ZSI6IHsic3ViIjogeyJhb\
        GxvdyI6IFsieCJdfSwgInN1YnMiOiAtMSwgImRhdGEiOiAtMSwgInBheWxvYWQiOiAtMX19XSwgInJldm9jYXRpb25zIjogeyJVQ\
        klSQ1hTQlJNVFlBRTZQWDZUSzNISU0yWjVXQk9MTk9PWUZSWjQ0WVFRVEszTUZWQjRKRUVXSiI6IDE3MDAwMDAwMDAsICIqIjogN\
        X0sICJ0eXBlIjogImFjY291bnQiLCAidmVyc2lvbiI6IDJ9fQ.w4qhe1vt7_Mq0ecMwQGV3rsnTa2BXsnRGlQW1LyQ63OKiLDjqY\
        wtE8p8EtQlgk824k7KaKW9_A_fzEmNgjmODQ
        """
}
